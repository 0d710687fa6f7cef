import { afterAll, beforeAll, beforeEach, describe } from '@jest/globals';
import type { Provider } from '@nestjs/common';
import { startRedis, type RedisServer } from '../support/redis.server.js';
import { startSelection } from '../support/selection.app.js';
import { describeChangesOfStrategy } from './change.contract.js';
import { ContractSubject } from './contract.subject.js';
import { describeCounting } from './counting.contract.js';
import { describeWhoIsSelected } from './eligibility.contract.js';
import { LowestIdStrategy } from './host.strategies.js';

/**
 * What every strategy must do, whatever its rule.
 *
 * @param providers the strategy itself, where it is not a built-in one
 */
export function describeStrategyContract(strategy: string, providers: Provider[] = []): void {
  describe(`the strategy ${strategy}`, () => {
    const subject = new ContractSubject(strategy);
    let server: RedisServer;

    beforeAll(async () => {
      server = await startRedis();
      subject.redis = server.client();
      subject.app = await startSelection(server.url, [...providers, LowestIdStrategy]);
      subject.other = await startSelection(server.url, [...providers, LowestIdStrategy]);
    });
    afterAll(async () => {
      await subject.app.close();
      await subject.other.close();
      await server.stop();
    });
    beforeEach(async () => {
      await subject.redis.flushall();
    });

    describeWhoIsSelected(subject);
    describeCounting(subject);
    describeChangesOfStrategy(subject);
  });
}
