import { z } from 'zod';
import { redisOptionsSchema, redisUrlSchema } from '../redis/redis.options.js';

const LOOPBACK_HOST = /^(localhost|::1|\[::1\]|127(\.\d{1,3}){3})$/i;
const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/@]+)):(\d{1,5})$/;

function wholeNumber(least: number, most: number, unit = '') {
  const right = `must be a whole number from ${least} to ${most}${unit}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, right)
    .transform(Number)
    .refine((value) => value >= least && value <= most, right);
}

const addresses = z.string().transform((list, context) =>
  list.split(',').map((entry) => {
    const match = ADDRESS.exec(entry.trim());
    const port = Number(match?.[3]);
    if (match && port >= 1 && port <= 65_535) return { host: match[1] ?? match[2] ?? '', port };
    context.addIssue({ code: 'custom', message: 'must be host:port,host:port with ports from 1 to 65535' });
    return z.NEVER;
  }),
);

const host = z.string().refine((value) => LOOPBACK_HOST.test(value), {
  error:
    'must be a loopback address (127.0.0.1, ::1 or localhost): API keys come in a later release; until then bind to loopback',
});

const apiKeys = z
  .never({ error: 'must be unset: API keys come in a later release; until then bind to loopback' })
  .optional();

/** The variables as they stand in the environment, each checked for itself; an unset one is absent. */
export const environmentSchema = z.object({
  HOST: host.default('127.0.0.1'),
  PORT: wholeNumber(0, 65_535).default(3_000),
  REDIS_URL: redisUrlSchema.optional(),
  REDIS_CLUSTER_NODES: addresses.optional(),
  REDIS_SENTINELS: addresses.optional(),
  REDIS_SENTINEL_NAME: z.string().optional(),
  REDIS_SENTINEL_USERNAME: z.string().optional(),
  REDIS_SENTINEL_PASSWORD: z.string().optional(),
  REDIS_USERNAME: z.string().optional(),
  REDIS_PASSWORD: z.string().optional(),
  REDIS_TLS: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .transform((value) => value === 'true')
    .optional(),
  REDIS_KEY_PREFIX: redisOptionsSchema.shape.keyPrefix,
  REDIS_COMMAND_TIMEOUT_MS: wholeNumber(50, 60_000, ' (milliseconds)').default(2_000),
  SELECTION_STRATEGY: z.string().max(64, 'must be the name of a strategy').default('least-assigned'),
  POOLS_FILE: z.string().optional(),
  API_KEYS: apiKeys,
  DATA_DIR: z.string().default('./data'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'verbose'], {
      error: 'must be fatal, error, warn, info, debug or verbose',
    })
    .default('info'),
  DISPATCH_TAKEOVER_MS: wholeNumber(1_000, 60_000, ' (milliseconds)').default(10_000),
  IMPORT_MAX_BYTES: wholeNumber(1_024, 1_073_741_824, ' (bytes)').default(33_554_432),
});

export type EnvironmentVariables = z.output<typeof environmentSchema>;
