import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { MemberReturns } from '../eligibility/health/member.returns.js';
import { ProbeRunner } from '../eligibility/probe/probe.runner.js';
import { MemberJudging } from '../eligibility/rules/member.judging.js';
import { DueTicker } from '../selection/leases/due.ticker.js';
import { hasLifecycle } from '../selection/leases/lease.lifecycle.js';
import { StrategyRegistry } from '../selection/strategies/strategy.registry.js';
import { DueIndex } from './due.index.js';
import { PoolDirectory, type StoredPool } from './pool.directory.js';
import { NOTHING_DUE, type UpkeepStep, together } from './upkeep.step.js';

/** When a call looks again that waits for another process which judges the members of a pool. */
const OTHERS_LOOK_MS = 50;

/**
 * Does what is due in pools: expiries of leases, room that a raised capacity makes, cooldowns that end, rules that
 * have changed, members that are to be probed.
 */
@Injectable()
export class PoolUpkeep implements OnModuleInit {
  constructor(
    private readonly due: DueIndex,
    private readonly directory: PoolDirectory,
    private readonly registry: StrategyRegistry,
    private readonly ticker: DueTicker,
    private readonly judging: MemberJudging,
    private readonly returns: MemberReturns,
    private readonly probes: ProbeRunner,
  ) {}

  onModuleInit(): void {
    this.ticker.use(async (name) => {
      const pool = await this.directory.find(name);
      return pool ? this.stepOf(pool) : () => Promise.resolve(NOTHING_DUE);
    });
  }

  /**
   * Does all that is due now, and waits until the pool's members are judged by the rules that it has now, or has others. Every pass
   * takes the judging on, or finds that another process did. Should this one die on the way, whoever looks next goes on.
   */
  async catchUp(name: string): Promise<void> {
    let rules: string | undefined;
    for (;;) {
      const pool = await this.directory.find(name);
      if (!pool || (rules ??= pool.rules.fingerprint) !== pool.rules.fingerprint) return;
      const step = this.stepOf(pool);
      let { more, nextMs } = await step();
      if (nextMs !== null) await this.due.expect(name, nextMs);
      while (more) ({ more, nextMs } = await step());
      if (pool.judging === null) return;
      if (nextMs !== null) await sleep(OTHERS_LOOK_MS);
    }
  }

  private stepOf(pool: StoredPool): UpkeepStep {
    const strategy = this.registry.get(pool.settings.strategy);
    const steps = [this.judging.stepOf(pool), this.returns.stepOf(pool), this.probes.stepOf(pool)];
    if (hasLifecycle(strategy)) steps.push(() => strategy.tick(pool));
    return together(steps);
  }
}
