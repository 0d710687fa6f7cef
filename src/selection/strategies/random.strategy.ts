import { Injectable } from '@nestjs/common';
import { RedisScript } from '../../redis/redis.script.js';
import { loadScript } from '../../redis/script.loader.js';
import { rankedIndex } from './ranked.index.js';
import { PickingStrategy } from './picking.strategy.js';

/** Hands out any eligible member, with a chance in proportion to its weight. It reserves nothing. */
@Injectable()
export class RandomStrategy extends PickingStrategy {
  readonly name = 'random';
  readonly index = rankedIndex('race');
  protected readonly script = new RedisScript(loadScript('random/select.lua'));
}
