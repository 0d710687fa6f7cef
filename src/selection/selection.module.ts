import { ConfigurableModuleBuilder, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ExplainService } from '../eligibility/explain/explain.service.js';
import { MemberSurvey } from '../eligibility/explain/member.survey.js';
import { OutcomeService } from '../eligibility/health/outcome.service.js';
import { MemberReturns } from '../eligibility/health/member.returns.js';
import { OwnAddresses } from '../eligibility/probe/own.addresses.js';
import { ProbeClaims } from '../eligibility/probe/probe.claims.js';
import { ProbeRunner } from '../eligibility/probe/probe.runner.js';
import { ProberRegistry } from '../eligibility/probe/prober.registry.js';
import { ProxyProber } from '../eligibility/probe/proxy.prober.js';
import { MemberJudging } from '../eligibility/rules/member.judging.js';
import { parseInput } from '../errors/parse.input.js';
import { DueIndex } from '../pool/due.index.js';
import { MemberCatalogue } from '../pool/member.catalogue.js';
import { MemberImporter } from '../pool/member.importer.js';
import { PasswordTags } from '../pool/password.tags.js';
import { PoolDirectory } from '../pool/pool.directory.js';
import { PoolScripts } from '../pool/pool.scripts.js';
import { PoolService } from '../pool/pool.service.js';
import { PoolUpkeep } from '../pool/pool.upkeep.js';
import { redisProviders } from '../redis/redis.providers.js';
import type { RedisClient } from '../redis/redis.client.js';
import type { RedisOptions } from '../redis/redis.options.js';
import { REDIS_CLIENT, REDIS_OPTIONS } from '../redis/redis.tokens.js';
import { EligibleMembers } from './eligible.members.js';
import { KeyNames } from './key.names.js';
import {
  SELECTION_OPTIONS,
  type SelectionOptions,
  type SelectionOptionsInput,
  selectionOptionsSchema,
} from './selection.options.js';
import { SelectionService } from './selection.service.js';
import { CallTraffic } from './calls/call.traffic.js';
import { DueTicker } from './leases/due.ticker.js';
import { LeaseCalls } from './leases/lease.calls.js';
import { LeaseCatalogue } from './leases/lease.catalogue.js';
import { LeaseKeeper } from './leases/lease.keeper.js';
import { LeaseScripts } from './leases/lease.scripts.js';
import { LeaseService } from './leases/lease.service.js';
import { WaitingRoom } from './leases/waiting.room.js';
import { PoolAccess } from './pool.access.js';
import { LeastAssignedStrategy } from './strategies/least-assigned.strategy.js';
import { LeastConcurrencyStrategy } from './strategies/least-concurrency.strategy.js';
import { LeastRecentlyUsedStrategy } from './strategies/least-recently-used.strategy.js';
import { NarrowedPicks } from './strategies/narrowed.picks.js';
import { RandomStrategy } from './strategies/random.strategy.js';
import { BUILT_IN_STRATEGIES, StrategyRegistry } from './strategies/strategy.registry.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<SelectionOptionsInput>()
  .setClassMethodName('forRoot')
  .setExtras({ isGlobal: false }, (definition, { isGlobal }) => ({ ...definition, global: isGlobal }))
  .build();

/** One row a built-in strategy. */
const BUILT_IN = [LeastAssignedStrategy, LeastConcurrencyStrategy, LeastRecentlyUsedStrategy, RandomStrategy];

/**
 * Selection for any Nest application: `SelectionModule.forRoot({ redis: { connection: { url } } })`, or `forRootAsync` with
 * `imports`, `inject` and `useFactory`. Inject `SelectionService` to select, and `PoolService` to set up pools.
 */
@Module({
  imports: [DiscoveryModule],
  providers: [
    {
      provide: SELECTION_OPTIONS,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: (input: SelectionOptionsInput): SelectionOptions => parseInput(selectionOptionsSchema, input),
    },
    {
      provide: REDIS_OPTIONS,
      inject: [SELECTION_OPTIONS],
      useFactory: (options: SelectionOptions): RedisOptions => options.redis,
    },
    ...redisProviders,
    {
      provide: KeyNames,
      inject: [REDIS_OPTIONS],
      useFactory: (options: RedisOptions) => new KeyNames(options.keyPrefix),
    },
    NarrowedPicks,
    ...BUILT_IN,
    { provide: BUILT_IN_STRATEGIES, inject: BUILT_IN, useFactory: (...strategies: unknown[]) => strategies },
    StrategyRegistry,
    PoolDirectory,
    PoolScripts,
    PasswordTags,
    MemberCatalogue,
    MemberImporter,
    MemberJudging,
    MemberReturns,
    {
      provide: DueIndex,
      inject: [REDIS_CLIENT, KeyNames],
      useFactory: (redis: RedisClient, names: KeyNames) => new DueIndex(redis, names.due()),
    },
    { provide: ProxyProber, useFactory: () => new ProxyProber() },
    ProberRegistry,
    OwnAddresses,
    ProbeClaims,
    ProbeRunner,
    PoolUpkeep,
    OutcomeService,
    PoolService,
    MemberSurvey,
    ExplainService,
    EligibleMembers,
    CallTraffic,
    LeaseScripts,
    LeaseCalls,
    WaitingRoom,
    PoolAccess,
    LeaseCatalogue,
    LeaseService,
    LeaseKeeper,
    {
      provide: DueTicker,
      inject: [REDIS_CLIENT, KeyNames],
      useFactory: (redis: RedisClient, names: KeyNames) => new DueTicker(redis, names.due()),
    },
    SelectionService,
  ],
  exports: [
    OutcomeService,
    SelectionService,
    LeaseService,
    PoolService,
    ExplainService,
    EligibleMembers,
    StrategyRegistry,
    // For the other modules of Evenhand, which keep what is theirs in the same Redis.
    PoolAccess,
    REDIS_CLIENT,
    REDIS_OPTIONS,
  ],
})
export class SelectionModule extends ConfigurableModuleClass {}
