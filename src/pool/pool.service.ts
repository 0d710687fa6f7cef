import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PoolBusyError, RedisUnavailableError, ValidationFailedError } from '../errors/domain.errors.js';
import { ProbeClaims } from '../eligibility/probe/probe.claims.js';
import { ProberRegistry } from '../eligibility/probe/prober.registry.js';
import { rulesFingerprint } from '../eligibility/rules/member.rules.js';
import { parseInput } from '../errors/parse.input.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { RedisScript } from '../redis/redis.script.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { loadScript } from '../redis/script.loader.js';
import { KeyNames } from '../selection/key.names.js';
import { SELECTION_OPTIONS, type SelectionOptions } from '../selection/selection.options.js';
import { hasLifecycle } from '../selection/leases/lease.lifecycle.js';
import { StrategyRegistry } from '../selection/strategies/strategy.registry.js';
import type { MemberChanges, MemberView } from './member.js';
import { MemberCatalogue, type MemberPageRequest, memberChangesSchema } from './member.catalogue.js';
import { type ImportOptions, type ImportReport, MemberImporter, type MemberSource } from './member.importer.js';
import { type Page, type PageRequest, pageOf, pageRequestSchema, readCursor } from './page.js';
import { DueIndex } from './due.index.js';
import { PoolDirectory, type StoredPool } from './pool.directory.js';
import { PoolScripts } from './pool.scripts.js';
import { PoolUpkeep } from './pool.upkeep.js';
import {
  type CheckedChanges,
  type PoolChanges,
  type PoolSettings,
  defaultSettings,
  mergeSettings,
  poolChangesSchema,
  settingsFields,
  writeFilters,
} from './pool.settings.js';

const PUT = new RedisScript(loadScript('pool/put.lua'));
const DELETE = new RedisScript(loadScript('pool/delete.lua'));
/** How often a change may meet another change of the same pool before it gives up. */
const MAX_ATTEMPTS = 5;
const TARGETS_AT_ONCE = 500;

/** A pool as it is now. */
export interface PoolView extends PoolSettings {
  name: string;
  members: { total: number; eligible: number; withdrawn: number };
  /** How many selections the pool has made. */
  assigned: number;
  inFlight: number;
  waiters: number;
  /** Candidates and unhealthy members that are being probed, and those that are to be, now or later. */
  probes: { waiting: number; running: number };
}

/** Creates pools, changes their settings, shows and deletes them. */
@Injectable()
export class PoolService implements OnApplicationBootstrap {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    @Inject(SELECTION_OPTIONS) private readonly options: SelectionOptions,
    private readonly names: KeyNames,
    private readonly directory: PoolDirectory,
    private readonly registry: StrategyRegistry,
    private readonly scripts: PoolScripts,
    private readonly upkeep: PoolUpkeep,
    private readonly due: DueIndex,
    private readonly importer: MemberImporter,
    private readonly catalogue: MemberCatalogue,
    private readonly probers: ProberRegistry,
    private readonly probes: ProbeClaims,
  ) {}

  /** @throws StrategyUnknownError at start, rather than at the first new pool */
  onApplicationBootstrap(): void {
    this.directory.indexOf(this.options.defaultStrategy);
  }

  /**
   * Creates a pool, or changes the settings that are given. Safe to repeat.
   *
   * @throws ValidationFailedError | StrategyUnknownError | PoolBusyError for another strategy while leases are live
   */
  async put(name: string, changes: PoolChanges = {}): Promise<{ created: boolean; pool: PoolView }> {
    const checked = parseInput(poolChangesSchema, changes);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { outcome, isProbedAnew } = await this.putOnce(name, checked);
      if (outcome === 'STALE' || outcome === 'MOVING') continue;
      if (outcome === 'BUSY') throw new PoolBusyError(name);
      if (isProbedAnew) await this.probes.schedule(this.names.pool(name), { anew: true });
      await this.upkeep.catchUp(name);
      return { created: outcome === 'CREATED', pool: await this.get(name) };
    }
    throw new RedisUnavailableError(`The pool "${name}" kept changing while its settings were written. Try again.`);
  }

  /** @throws PoolNotFoundError */
  async get(name: string): Promise<PoolView> {
    return this.view(await this.scripts.settled(name));
  }

  /** Pools in the order of their names. */
  async list(request: PageRequest = {}): Promise<Page<'pools', PoolView>> {
    const { limit, cursor } = parseInput(pageRequestSchema, request);
    const from = cursor === undefined ? '-' : `(${readCursor(cursor)}`;
    const found = await redisCall(this.redis.zrangebylex(this.names.pools(), from, '+', 'LIMIT', 0, limit + 1));
    const { items, nextCursor } = pageOf(found, limit, (name) => name);
    const stored = await Promise.all(items.map((name) => this.directory.find(name)));
    const pools = await Promise.all(stored.filter((pool) => pool !== undefined).map((pool) => this.view(pool)));
    return { pools, nextCursor };
  }

  /**
   * Deletes a pool with its members and their history.
   *
   * @param options `force` ends live leases with it
   * @throws PoolNotFoundError | PoolBusyError while leases are live
   */
  async delete(name: string, { force = false } = {}): Promise<void> {
    await this.upkeep.catchUp(name);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const pool = await this.scripts.settled(name);
      const { settings, leases, targets: _forgottenLater, ...others } = pool.keys;
      const keys = [settings, leases, ...Object.values(others), ...pool.indexKeys];
      const outcome = await DELETE.run(this.redis, keys, [pool.settings.strategy, force ? '1' : '0']);
      if (outcome === 'BUSY') throw new PoolBusyError(name);
      if (outcome === 'DELETED') {
        await this.unlist(name);
        return this.forgetTargets(name);
      }
    }
    throw new RedisUnavailableError(`The pool "${name}" kept changing while it was deleted. Try again.`);
  }

  /**
   * Puts a list of members into the pool, or several taken together as one. Safe to repeat, also after it was cut off.
   *
   * @throws PoolNotFoundError | ImportRunningError | EmptySourceError | ColumnsUnknownError | ValidationFailedError
   */
  async importMembers(
    pool: string,
    sources: MemberSource | readonly MemberSource[],
    options?: ImportOptions,
  ): Promise<ImportReport> {
    const report = await this.importer.import(pool, [sources].flat(), options);
    await this.expectProbes(pool);
    return report;
  }

  /** Members in the order of the bytes of their ids. @throws PoolNotFoundError */
  listMembers(pool: string, request?: MemberPageRequest): Promise<Page<'members', MemberView>> {
    return this.catalogue.list(pool, request);
  }

  /** @throws PoolNotFoundError | MemberNotFoundError */
  getMember(pool: string, id: string): Promise<MemberView> {
    return this.catalogue.get(pool, id);
  }

  /** Changes what is given and keeps the rest. Safe to repeat. @throws PoolNotFoundError | MemberNotFoundError */
  async patchMember(pool: string, id: string, changes: MemberChanges): Promise<MemberView> {
    const checked = parseInput(memberChangesSchema, changes);
    // A cooldown may begin, or one go on that was hidden behind another reason.
    await this.due.register(pool);
    const member = await this.catalogue.patch(pool, id, checked);
    if (member.returnsAt !== null) await this.due.expect(pool, Date.parse(member.returnsAt));
    await this.expectProbes(pool);
    return member;
  }

  /** Removes a member; with `forget` also where it stood. @throws PoolNotFoundError | MemberNotFoundError */
  removeMember(pool: string, id: string, options?: { forget?: boolean }): Promise<void> {
    return this.catalogue.remove(pool, id, options);
  }

  /**
   * Has all candidates and unhealthy members of a pool probed soon, those aside that are being probed.
   *
   * @throws PoolNotFoundError
   */
  async scheduleProbes(name: string): Promise<{ scheduled: number }> {
    const { keys } = await this.scripts.settled(name);
    await this.due.register(name);
    const scheduled = await this.probes.schedule(keys);
    await this.expectProbes(name);
    return { scheduled };
  }

  /** Has somebody look at once whether there is a member to probe. */
  private async expectProbes(name: string): Promise<void> {
    if (this.directory.recall(name)?.settings.probe) await this.due.expect(name, 0);
  }

  private async putOnce(name: string, changes: CheckedChanges): Promise<{ outcome: unknown; isProbedAnew: boolean }> {
    const known = await this.directory.find(name);
    if (known?.leaving) await this.scripts.settled(name);
    const settings = mergeSettings(known?.settings ?? defaultSettings(this.options.defaultStrategy), changes);
    requireTtlWithinMax(settings);
    requireProbe(settings);
    this.probers.require(settings.probe);
    const wanted = this.directory.configOf(name, settings);
    const current = known ?? wanted;
    const [from, to] = [current, wanted].map(({ settings: each }) => this.directory.indexOf(each.strategy));
    // An index of several keys is carried over in steps.
    const sameKind = from?.kind === to?.kind && to?.parts.length === 1;
    const { settings: settingsKey, leases, waiters } = wanted.keys;
    const keys = [settingsKey, current.indexKeys[0] as string, wanted.indexKeys[0] as string, leases, waiters];
    const fields = [
      ...settingsFields(known ? changes : settings),
      ...(await this.reseating(name, settings.strategy, changes)),
    ];
    const isProbedAnew = known !== undefined && isOtherProbe(known.settings, settings);
    if (isProbedAnew || rulesFingerprint(settings) !== known?.rules.fingerprint) await this.due.register(name);
    await redisCall(this.redis.zadd(this.names.pools(), 0, name));
    const outcome = await PUT.run(this.redis, keys, [
      known?.settings.strategy ?? '',
      settings.strategy,
      sameKind ? '1' : '0',
      known?.rules.fingerprint ?? '',
      rulesFingerprint(settings),
      writeFilters(settings.filters),
      ...fields,
    ]);
    return { outcome, isProbedAnew };
  }

  /**
   * What a changed capacity means for each member is looked at in steps, see lua/least-concurrency/tick.lua. Should this
   * process die before they are all done, the index of what is due says that somebody has to go on.
   */
  private async reseating(name: string, strategy: string, { capacity }: CheckedChanges): Promise<string[]> {
    if (capacity === undefined || !hasLifecycle(this.registry.get(strategy))) return [];
    await this.due.register(name);
    return ['reseat', ''];
  }

  /** What is kept of targets has keys of its own; those that are made from here on are gone by themselves. */
  private async forgetTargets(name: string): Promise<void> {
    const { targets } = this.names.pool(name);
    for (;;) {
      const found = await redisCall(this.redis.zrange(targets, '0', String(TARGETS_AT_ONCE - 1)));
      if (found.length === 0) return;
      const keys = found.flatMap((target) => this.names.target(name, target));
      await redisCall(this.redis.unlink(...keys));
      await redisCall(this.redis.zrem(targets, ...found));
    }
  }

  /** The list of pools is in another slot of a cluster: a pool that was made again in between goes back into it. */
  private async unlist(name: string): Promise<void> {
    await redisCall(this.redis.zrem(this.names.pools(), name));
    if (await this.directory.find(name)) await redisCall(this.redis.zadd(this.names.pools(), 0, name));
  }

  private async view({ name, settings, keys }: StoredPool): Promise<PoolView> {
    const { redis } = this;
    const [eligible, withdrawn, counted, lent, inFlight, waiters, toProbe, probing] = await redisCall(
      Promise.all([
        redis.zcard(keys.eligible),
        redis.zcard(keys.withdrawn),
        redis.get(keys.assigned),
        redis.hget(keys.settings, 'sequence'),
        redis.zcard(keys.leases),
        redis.zcard(keys.waiters),
        redis.zcard(keys.probes),
        redis.zcard(keys.probing),
      ]),
    );
    return {
      name,
      ...settings,
      members: { total: eligible + withdrawn, eligible, withdrawn },
      assigned: Number(counted ?? 0) + Number(lent ?? 0),
      inFlight,
      waiters,
      // The probe of a member that was removed meanwhile runs on.
      probes: { waiting: Math.max(0, toProbe - probing), running: probing },
    };
  }
}

function requireTtlWithinMax({ lease }: PoolSettings): void {
  if (lease.ttlMs <= lease.maxTtlMs) return;
  const message = `must be at most lease.maxTtlMs, which is ${lease.maxTtlMs}`;
  throw new ValidationFailedError(`"lease.ttlMs" ${message}.`, [{ path: 'lease.ttlMs', message }]);
}

function requireProbe({ candidates, probe }: PoolSettings): void {
  if (candidates === 'trust' || probe) return;
  const message = 'must be set where candidates are to be probed';
  throw new ValidationFailedError(`"probe" ${message}.`, [{ path: 'probe', message }]);
}

function isOtherProbe(one: PoolSettings, other: PoolSettings): boolean {
  return JSON.stringify(one.probe) !== JSON.stringify(other.probe);
}
