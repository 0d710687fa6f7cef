import { Inject, Injectable } from '@nestjs/common';
import type { RedisClient } from '../redis/redis.client.js';
import { RedisScript } from '../redis/redis.script.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { loadScript } from '../redis/script.loader.js';
import { QueueKeyNames } from './queue.keys.js';

const TURN = new RedisScript(loadScript('dispatch/turn.lua'));
const YIELD = new RedisScript(loadScript('dispatch/yield.lua'));

/** What comes next in a queue, where it is the caller's turn; or why it is not. */
export type Turn =
  { word: 'GO'; request: string; number: string } | { word: 'TAKEN' | 'PAUSED' | 'FULL' | 'MISSING' | 'EMPTY' };

/** Whose turn it is to start the next job of a queue. */
@Injectable()
export class TurnKeeper {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: QueueKeyNames,
  ) {}

  /** Takes the turn, or keeps it for longer. */
  async take(queue: string, token: string, holdMs: number): Promise<Turn> {
    const { queue: settings, active, retries, line } = this.names.queue(queue);
    const [word, request = '', number = ''] = (await TURN.run(
      this.redis,
      [settings, active, retries, line],
      [token, holdMs],
    )) as [Turn['word'], string?, string?];
    return word === 'GO' ? { word, request, number } : { word };
  }

  /** @param why nothing was started, for those who look at the queue */
  async giveUp(queue: string, token: string, why: string): Promise<void> {
    await YIELD.run(this.redis, [this.names.queue(queue).queue], [token, why]);
  }
}
