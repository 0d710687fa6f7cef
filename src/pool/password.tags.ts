import { createHmac, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { KeyNames } from '../selection/key.names.js';

const KEY_BYTES = 32;
const TAG_HEX_DIGITS = 8;

/** Tells apart members that differ only in their password, without their ids giving the password away. */
@Injectable()
export class PasswordTags {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: KeyNames,
  ) {}

  /**
   * Gets ready to tag passwords: 8 hex digits of an HMAC-SHA-256 under a random key, which is made once and kept in Redis,
   * so that every process gives a password the same tag.
   */
  async open(): Promise<(password: string) => string> {
    const name = this.names.passwordTagKey();
    await redisCall(this.redis.set(name, randomBytes(KEY_BYTES).toString('hex'), 'NX'));
    const key = (await redisCall(this.redis.get(name))) ?? '';
    return (password) => createHmac('sha256', key).update(password).digest('hex').slice(0, TAG_HEX_DIGITS);
  }
}
