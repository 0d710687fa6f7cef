import { Injectable } from '@nestjs/common';
import {
  EligibleMembers,
  type PoolConfig,
  type SelectionRequest,
  type SelectionResult,
  type SelectionStrategy,
  SelectionStrategyProvider,
} from '../../src/index.js';

/** A host application's strategy without Lua: any eligible member. */
@SelectionStrategyProvider()
@Injectable()
export class AnyMemberStrategy implements SelectionStrategy {
  readonly name = 'any-member';

  constructor(private readonly members: EligibleMembers) {}

  select(pool: PoolConfig, _request: SelectionRequest): Promise<SelectionResult> {
    return this.members.select(pool, () => this.members.random(pool));
  }
}

/** A strategy whose choice can be told from that of any other: always the eligible member with the lowest id. */
@SelectionStrategyProvider()
@Injectable()
export class LowestIdStrategy implements SelectionStrategy {
  readonly name = 'lowest-id';

  constructor(private readonly members: EligibleMembers) {}

  select(pool: PoolConfig, _request: SelectionRequest): Promise<SelectionResult> {
    return this.members.select(pool, async () => (await this.members.ids(pool, 1))[0] ?? null);
  }
}
