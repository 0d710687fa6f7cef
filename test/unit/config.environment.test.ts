import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigurationError } from '../../src/config/configuration.error.js';
import { environmentSchema } from '../../src/config/environment.schema.js';
import { nestLogLevels, readEnvironment } from '../../src/config/environment.js';

type Env = Record<string, string>;

const DEFAULTS = {
  host: '127.0.0.1',
  port: 3000,
  redis: { connection: { embedded: { dataDir: './data' } }, keyPrefix: 'evenhand', commandTimeoutMs: 2000 },
  defaultStrategy: 'least-assigned',
  poolsFile: undefined,
  logLevel: 'info',
  importMaxBytes: 32 * 1024 * 1024,
  takeoverMs: 10_000,
};

function problemsOf(env: Env): readonly string[] {
  try {
    readEnvironment(env);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  return [];
}

describe('the environment', () => {
  test('has a default for everything', () => {
    expect(readEnvironment({})).toEqual(DEFAULTS);
  });

  test('counts an empty or blank variable as unset', () => {
    expect(readEnvironment({ PORT: '', REDIS_URL: ' ', HOST: '', REDIS_TLS: '', API_KEYS: '' })).toEqual(DEFAULTS);
  });

  test('reads .env.example as the defaults, and names every variable there', () => {
    const example = parseEnv(readFileSync(new URL('../../.env.example', import.meta.url), 'utf8')) as Env;
    expect(readEnvironment(example)).toEqual(DEFAULTS);
    const named = Object.keys(environmentSchema.shape).filter((name) => name !== 'API_KEYS');
    expect(Object.keys(example).sort()).toEqual(named.sort());
  });

  test.each<[string, Env, unknown]>([
    ['a URL', { REDIS_URL: 'redis://u:p%40@h:1/2' }, { url: 'redis://u:p%40@h:1/2' }],
    ['a unix URL', { REDIS_URL: 'unix:///run/redis.sock' }, { url: 'unix:///run/redis.sock' }],
    [
      'a cluster',
      { REDIS_CLUSTER_NODES: 'a:1, [::1]:2', REDIS_USERNAME: 'u', REDIS_PASSWORD: 'p', REDIS_TLS: 'true' },
      {
        clusterNodes: [
          { host: 'a', port: 1 },
          { host: '::1', port: 2 },
        ],
        username: 'u',
        password: 'p',
        tls: true,
      },
    ],
    [
      'sentinels',
      { REDIS_SENTINELS: 'a:1', REDIS_SENTINEL_NAME: 'mymaster', REDIS_SENTINEL_PASSWORD: 's', REDIS_TLS: 'false' },
      { sentinels: [{ host: 'a', port: 1 }], name: 'mymaster', sentinelPassword: 's', tls: false },
    ],
    ['an embedded server', { DATA_DIR: '/var/lib/evenhand' }, { embedded: { dataDir: '/var/lib/evenhand' } }],
  ])('connects to %s', (_kind, env, connection) => {
    expect(readEnvironment(env).redis.connection).toEqual(connection);
  });

  test.each(['127.0.0.1', '127.8.9.10', '::1', 'localhost', 'LOCALHOST'])('listens on loopback: %s', (HOST) => {
    expect(readEnvironment({ HOST }).host).toBe(HOST);
  });

  test.each<[Env, RegExp]>([
    [{ HOST: '0.0.0.0' }, /^HOST: .*API keys come in a later release; until then bind to loopback$/],
    [{ HOST: '::' }, /^HOST: /],
    [{ HOST: '127.0.0.1.example.com' }, /^HOST: /],
    [{ API_KEYS: 'worker:hush-hush' }, /^API_KEYS: must be unset: API keys come in a later release/],
    [{ PORT: '65536' }, /^PORT: must be a whole number from 0 to 65535$/],
    [{ PORT: '-1' }, /^PORT: /],
    [{ PORT: '3000.5' }, /^PORT: /],
    [{ PORT: '0x10' }, /^PORT: /],
    [{ REDIS_URL: 'http://:hush-hush@localhost' }, /^REDIS_URL: must be redis:\/\//],
    [{ REDIS_URL: 'redis://' }, /^REDIS_URL: /],
    [{ REDIS_URL: 'redis://h/db1' }, /^REDIS_URL: must name the database by its number/],
    [{ REDIS_URL: 'redis://:hush-hush%@h' }, /^REDIS_URL: holds a %/],
    [{ REDIS_URL: 'redis://h?timeout=1' }, /^REDIS_URL: may have no query parameter but db$/],
    [{ REDIS_URL: 'unix://relative.sock' }, /^REDIS_URL: must be unix:\/\/\/path/],
    [{ REDIS_CLUSTER_NODES: 'a' }, /^REDIS_CLUSTER_NODES: must be host:port,host:port/],
    [{ REDIS_CLUSTER_NODES: 'a:1,' }, /^REDIS_CLUSTER_NODES: /],
    [{ REDIS_CLUSTER_NODES: 'a:0' }, /^REDIS_CLUSTER_NODES: /],
    [{ REDIS_CLUSTER_NODES: 'hush-hush@a:99999' }, /^REDIS_CLUSTER_NODES: /],
    [{ REDIS_SENTINELS: 'a:1' }, /^REDIS_SENTINEL_NAME: must be set along with REDIS_SENTINELS/],
    [{ REDIS_SENTINEL_NAME: 'm' }, /^REDIS_SENTINEL_NAME: is only for Sentinel; set REDIS_SENTINELS/],
    [{ REDIS_URL: 'redis://h', REDIS_CLUSTER_NODES: 'a:1' }, /^REDIS_URL, REDIS_CLUSTER_NODES: set only one/],
    [{ REDIS_URL: 'redis://h', REDIS_PASSWORD: 'hush-hush' }, /^REDIS_PASSWORD: .*put it into REDIS_URL/],
    [{ REDIS_URL: 'redis://h', REDIS_TLS: 'true' }, /^REDIS_TLS: /],
    [{ REDIS_PASSWORD: 'hush-hush' }, /^REDIS_PASSWORD: .*embedded Redis takes none/],
    [{ REDIS_TLS: 'yes', REDIS_CLUSTER_NODES: 'a:1' }, /^REDIS_TLS: must be true or false$/],
    [{ REDIS_KEY_PREFIX: 'a{b}' }, /^REDIS_KEY_PREFIX: must be 1 to 64 of/],
    [{ REDIS_KEY_PREFIX: 'a'.repeat(65) }, /^REDIS_KEY_PREFIX: /],
    [{ REDIS_COMMAND_TIMEOUT_MS: '49' }, /^REDIS_COMMAND_TIMEOUT_MS: must be a whole number from 50 to 60000/],
    [{ REDIS_COMMAND_TIMEOUT_MS: '2s' }, /^REDIS_COMMAND_TIMEOUT_MS: /],
    [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL: must be fatal, error, warn, info, debug or verbose$/],
    [{ DISPATCH_TAKEOVER_MS: '10s' }, /^DISPATCH_TAKEOVER_MS: must be a whole number from 1000 to/],
    [{ IMPORT_MAX_BYTES: '32MiB' }, /^IMPORT_MAX_BYTES: must be a whole number from 1024 to/],
  ])('refuses %j', (env, line) => {
    const problems = problemsOf(env);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(line);
    expect(problems[0]).not.toContain('hush-hush');
  });

  test('reports every problem at once, those between variables too', () => {
    const problems = problemsOf({ PORT: 'x', LOG_LEVEL: 'x', REDIS_SENTINELS: 'a:1' });
    expect(problems.map((line) => line.split(':')[0])).toEqual(['PORT', 'LOG_LEVEL', 'REDIS_SENTINEL_NAME']);
  });

  test('maps levels to those of Nest', () => {
    expect(nestLogLevels('info')).toEqual(['fatal', 'error', 'warn', 'log']);
    expect(nestLogLevels('fatal')).toEqual(['fatal']);
    expect(nestLogLevels('verbose')).toContain('debug');
  });
});
