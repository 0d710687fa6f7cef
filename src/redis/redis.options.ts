import type { ConnectionOptions } from 'node:tls';
import { z } from 'zod';
import { parseRedisUrl } from './redis.url.js';

const addressSchema = z.strictObject({
  host: z.string().min(1).max(253),
  port: z.int().min(1).max(65_535),
});

/** `true` for TLS with Node's defaults, or Node's own TLS options, such as a private CA in `ca`. */
const tlsSchema = z.union([
  z.boolean(),
  z.custom<ConnectionOptions>((value) => typeof value === 'object' && value !== null, 'must be true or TLS options'),
]);

export const redisUrlSchema = z.string().superRefine((url, context) => {
  try {
    parseRedisUrl(url);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
  }
});

const credentials = {
  /** The ACL user; `default` where only a password is given. */
  username: z.string().min(1).optional(),
  password: z.string().min(1).optional(),
  tls: tlsSchema.optional(),
};

const urlConnectionSchema = z.strictObject({
  /** `redis://`, `rediss://` or `unix://`, with user and password where they are needed. */
  url: redisUrlSchema,
  /** TLS options for `rediss://`. */
  tls: tlsSchema.optional(),
});

const clusterConnectionSchema = z.strictObject({
  /** Some nodes of the cluster; the others are found from them. */
  clusterNodes: z.array(addressSchema).min(1),
  ...credentials,
});

const sentinelConnectionSchema = z.strictObject({
  sentinels: z.array(addressSchema).min(1),
  /** The name by which the sentinels know the primary. */
  name: z.string().min(1),
  ...credentials,
  /** Credentials for the sentinels themselves, where they ask for any. */
  sentinelUsername: z.string().min(1).optional(),
  sentinelPassword: z.string().min(1).optional(),
});

const embeddedConnectionSchema = z.strictObject({
  embedded: z.strictObject({
    /** The embedded server keeps its files in `redis` under this directory. */
    dataDir: z.string().min(1),
  }),
});

/** Which Redis to use: one of an address, a cluster, a set of sentinels, or a private server of this process. */
export const redisConnectionSchema = z.union([
  urlConnectionSchema,
  clusterConnectionSchema,
  sentinelConnectionSchema,
  embeddedConnectionSchema,
]);

export const redisOptionsSchema = z.strictObject({
  connection: redisConnectionSchema,
  /** First part of every key. */
  keyPrefix: z
    .string()
    .regex(/^[A-Za-z0-9:._-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 : . _ -')
    .default('evenhand'),
  /** A command that takes longer fails with `REDIS_UNAVAILABLE`. */
  commandTimeoutMs: z.int().min(50).max(60_000).default(2_000),
});

export type RedisAddress = z.output<typeof addressSchema>;
export type UrlConnection = z.output<typeof urlConnectionSchema>;
export type ClusterConnection = z.output<typeof clusterConnectionSchema>;
export type SentinelConnection = z.output<typeof sentinelConnectionSchema>;
export type EmbeddedConnection = z.output<typeof embeddedConnectionSchema>;
export type RedisConnection = z.output<typeof redisConnectionSchema>;
/** A connection that a client can be made for; an embedded server becomes one when it has started. */
export type RemoteConnection = Exclude<RedisConnection, EmbeddedConnection>;
export type RedisOptionsInput = z.input<typeof redisOptionsSchema>;
export type RedisOptions = z.output<typeof redisOptionsSchema>;
