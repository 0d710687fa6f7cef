import { Injectable } from '@nestjs/common';
import { RedisScript } from '../../redis/redis.script.js';
import { loadScript } from '../../redis/script.loader.js';
import { COUNTED_INDEX } from './counted.index.js';
import { PickingStrategy } from './picking.strategy.js';

/**
 * Hands out the eligible member with the fewest assignments. Cumulative: it reserves nothing, and the count says nothing
 * of work in progress. Weights follow stride scheduling (Waldspurger and Weihl, 1995), in whole numbers.
 */
@Injectable()
export class LeastAssignedStrategy extends PickingStrategy {
  readonly name = 'least-assigned';
  readonly index = COUNTED_INDEX;
  protected readonly script = new RedisScript(loadScript('least-assigned/select.lua'));
}
