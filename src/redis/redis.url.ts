/** Where one Redis server listens, and who it is asked as. */
export interface RedisEndpoint {
  /** Socket path; `host` and `port` are for servers without one. */
  path?: string;
  host?: string;
  port?: number;
  username?: string;
  password?: string;
  /** Number of the logical database. */
  db?: number;
  tls: boolean;
}

const UNIX_URL = /^unix:\/\/(?:([^@/?#]*)@)?(\/[^?#]+)(?:\?([^#]*))?$/;

/**
 * Reads `redis://[user:password@]host[:port][/db]`, the same with `rediss://`, or `unix://[user:password@]/path[?db=n]`.
 *
 * @throws Error whose message never repeats the URL, since it may hold a password
 */
export function parseRedisUrl(url: string): RedisEndpoint {
  if (url.startsWith('unix:')) return parseUnixUrl(url);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isKnown = parsed?.protocol === 'redis:' || parsed?.protocol === 'rediss:';
  if (!parsed || !isKnown || parsed.hostname === '') {
    throw new Error(
      'must be redis://host:port, rediss://host:port or unix:///path; special characters in a password are %-encoded',
    );
  }
  if (parsed.hash !== '') throw new Error('must not have a # part; in a password # is written %23');
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? 6379 : Number(parsed.port),
    tls: parsed.protocol === 'rediss:',
    ...credentialsOf(parsed.username, parsed.password),
    ...databaseOf(parsed.pathname.replace(/^\//, '') || undefined, parsed.searchParams),
  };
}

function parseUnixUrl(url: string): RedisEndpoint {
  const match = UNIX_URL.exec(url);
  if (!match) throw new Error('must be unix:///path/to/socket, with an absolute path');
  const [user = '', ...password] = (match[1] ?? '').split(':');
  return {
    path: decode(match[2] ?? ''),
    tls: false,
    ...credentialsOf(user, password.join(':')),
    ...databaseOf(undefined, new URLSearchParams(match[3])),
  };
}

function credentialsOf(username: string, password: string): Pick<RedisEndpoint, 'username' | 'password'> {
  return {
    ...(username === '' ? {} : { username: decode(username) }),
    ...(password === '' ? {} : { password: decode(password) }),
  };
}

function databaseOf(inPath: string | undefined, query: URLSearchParams): Pick<RedisEndpoint, 'db'> {
  const unknown = [...query.keys()].find((name) => name !== 'db');
  if (unknown !== undefined) throw new Error('may have no query parameter but db');
  const text = inPath ?? query.get('db') ?? undefined;
  if (text === undefined) return {};
  if (!/^\d{1,5}$/.test(text)) throw new Error('must name the database by its number, such as /0');
  return { db: Number(text) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('holds a % that starts no %-encoded character; a % itself is written %25');
  }
}
