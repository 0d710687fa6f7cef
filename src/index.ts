/** The public API of the library. */
export { SelectionModule } from './selection/selection.module.js';
export { SelectionService } from './selection/selection.service.js';
export { LeaseService } from './selection/leases/lease.service.js';
export { LeaseHandle } from './selection/leases/lease.handle.js';
export type { LeaseLifecycle } from './selection/leases/lease.lifecycle.js';
export type {
  Abandonment,
  Completion,
  Extension,
  ExtensionBatch,
  ExtensionResult,
  LeaseEnding,
  LeaseView,
} from './selection/leases/lease.types.js';
export { EligibleMembers } from './selection/eligible.members.js';
export { StrategyRegistry } from './selection/strategies/strategy.registry.js';
export { SelectionStrategyProvider } from './selection/strategies/selection-strategy.decorator.js';
export { MemberProberProvider } from './eligibility/probe/member-prober.decorator.js';
export type {
  FailedProbe,
  MemberProber,
  MemberToProbe,
  ProbeContext,
  ProbeFailure,
  ProbeResult,
} from './eligibility/probe/member.prober.js';
export type { ProbeSettings } from './eligibility/probe/probe.settings.js';
export { PoolOutdatedError } from './selection/pool.outdated.error.js';
export type { MemberIndex, PoolConfig, SelectionStrategy } from './selection/strategies/selection.strategy.js';
export type { SelectionOptionsInput } from './selection/selection.options.js';
export type { RedisConnection, RedisOptionsInput } from './redis/redis.options.js';
export type {
  BatchRequest,
  BatchResult,
  Lease,
  NothingReason,
  Selection,
  SelectionRequest,
  SelectionResult,
} from './selection/selection.types.js';

export { PoolService, type PoolView } from './pool/pool.service.js';
export type { PoolChanges, PoolSettings, RestorePolicy } from './pool/pool.settings.js';
export type { Labels, MemberChanges, MemberState, MemberView, WithdrawalReason } from './pool/member.js';
export type { MemberPageRequest } from './pool/member.catalogue.js';
export type { ImportOptions, ImportReport, MemberSource } from './pool/member.importer.js';
export type { ListFormat } from './pool/lists/member.list.js';
export type { Page, PageRequest } from './pool/page.js';

export { OutcomeService } from './eligibility/health/outcome.service.js';
export type { Outcome, OutcomeBatch, OutcomeResult } from './eligibility/health/outcome.types.js';
export { ExplainService } from './eligibility/explain/explain.service.js';
export type { Explanation, ExplainRequest, MatchCounts } from './eligibility/explain/explain.types.js';

export { DispatchModule } from './dispatch/dispatch.module.js';
export { DispatchService } from './dispatch/dispatch.service.js';
export type { QueueNodeView, QueueView } from './dispatch/queue.view.js';
export {
  DispatchEvents,
  type DispatchEvent,
  type DispatchEventName,
  type DispatchListener,
} from './dispatch/dispatch.events.js';
export type { DispatchOptionsInput } from './dispatch/dispatch.options.js';
export type { QueueChanges, QueueSettings } from './dispatch/queue.settings.js';
export type { JobCounts, JobRequest, JobState, JobView, RequestView } from './dispatch/job.types.js';
export type { RequestReceipt } from './dispatch/request.intake.js';
export { LauncherProvider } from './dispatch/launcher/launcher.decorator.js';
export {
  LaunchRefusedError,
  LauncherCallError,
  type Launcher,
  type LauncherJob,
  type LauncherNode,
  type LauncherState,
  type LauncherStatus,
} from './dispatch/launcher/launcher.js';
export {
  JobNotFoundError,
  LauncherUnknownError,
  QueueBusyError,
  QueueFullError,
  QueueNotFoundError,
  RequestNotFoundError,
} from './dispatch/dispatch.errors.js';

export { RestModule } from './http/rest.module.js';

export { EvenhandError, type ErrorCode } from './errors/evenhand.error.js';
export {
  ColumnsUnknownError,
  EmptySourceError,
  ImportRunningError,
  LeaseEndedError,
  LeaseExpiredError,
  LeaseNotFoundError,
  MemberNotFoundError,
  NoLeaseLifecycleError,
  PoolBusyError,
  PoolNotFoundError,
  RedisRefusedError,
  RedisUnavailableError,
  RequestIdReusedError,
  ShuttingDownError,
  StaleFenceError,
  StrategyUnknownError,
  ValidationFailedError,
  type ValidationProblem,
} from './errors/domain.errors.js';
