import { Injectable } from '@nestjs/common';
import { RedisScript } from '../../redis/redis.script.js';
import { loadScript } from '../../redis/script.loader.js';
import { rankedIndex } from './ranked.index.js';
import { PickingStrategy } from './picking.strategy.js';

/** Hands out the eligible member that was selected longest ago. It reserves nothing, and knows no weights. */
@Injectable()
export class LeastRecentlyUsedStrategy extends PickingStrategy {
  readonly name = 'least-recently-used';
  readonly index = rankedIndex('recency');
  protected readonly script = new RedisScript(loadScript('least-recently-used/select.lua'));
}
