import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type RedisServer, startRedis } from '../support/redis.server.js';
import { RunningService } from '../support/service.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/even-share.mjs', import.meta.url));

let redis: RedisServer;
let service: RunningService;

beforeAll(async () => {
  redis = await startRedis();
  service = await RunningService.start({ REDIS_URL: redis.url });
});
afterAll(async () => {
  await service.stop();
  await redis.stop();
});

test.each(['rest', 'library'])(
  'eight processes over 492 members: each is selected 32 or 33 times (%s)',
  async (way) => {
    const env = { ...process.env, NODE_OPTIONS: '', EVENHAND_URL: service.url, REDIS_URL: redis.url };
    const { stdout } = await promisify(execFile)(process.execPath, [EXAMPLE, way], { env });
    expect(stdout).toMatch(/^8 processes made 16000 selections over 492 members in /);
    expect(stdout.split('\n').slice(1)).toEqual([
      '  236 members were selected 32 times',
      '  256 members were selected 33 times',
      '',
    ]);
  },
);
