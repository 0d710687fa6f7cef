import type { Redis } from 'ioredis';
import { MemberRules } from '../../src/eligibility/rules/member.rules.js';
import { readSettings, writeFilters } from '../../src/pool/pool.settings.js';
import { KeyNames, type PoolKeys } from '../../src/selection/key.names.js';
import { readRecord } from '../../src/selection/member.record.js';
import { serverTimeMs } from '../../src/redis/server.time.js';

const VIEW_NAME_LENGTH = 11;

/** Index keys by strategy: where members that may be picked are, where those are that are eligible but full, and the counts. */
const INDEXES: Readonly<Record<string, { picked: string; full?: string; counts?: string }>> = {
  'least-assigned': { picked: 'counts' },
  'least-concurrency': { picked: 'ready', full: 'full', counts: 'counts' },
  'least-recently-used': { picked: 'ranks', counts: 'counts' },
  random: { picked: 'ranks', counts: 'counts' },
};

/** What a pool holds in Redis, read in one transaction. */
interface StoredState {
  settings: Record<string, string>;
  members: Record<string, string>;
  eligible: Scores;
  withdrawn: Scores;
  parked: Record<string, string>;
  facts: Record<string, string>;
  reasons: Record<string, string>;
  returns: Scores;
  probes: Scores;
  views: Scores;
  picked: Scores;
  full: Scores;
  counts: Record<string, string>;
  nowMs: number;
}
type Scores = Map<string, number>;
/** Stands for the rank of a member at its capacity. */
const FULL = '~'.repeat(16);

/**
 * What is wrong in a pool at rest: with where its members are, why, and in what views. Nothing, if all is well. `facts` are read
 * by their first three fields and their second line only.
 */
export async function poolProblems(redis: Redis, pool = 'shop'): Promise<string[]> {
  const state = await readState(redis, pool);
  const problems: string[] = [];
  const check: Check = (isRight, what) => {
    if (!isRight) problems.push(what);
  };
  checkRulesAreInForce(state, check);
  checkStates(state, check);
  checkMembers(state, check);
  checkIndex(state, check);
  checkViews(state, check);
  return problems;
}

type Check = (isRight: boolean, what: string) => void;

function checkRulesAreInForce({ settings }: StoredState, check: Check): void {
  const { filters } = readSettings(settings);
  check(settings['judging'] === undefined, `members are still to be judged, after "${settings['judging']}"`);
  check((settings['ready'] ?? '') === writeFilters(filters), 'not all declared filters are ready');
}

/** Every member is in one state, and what is counted and scheduled is what is there. */
function checkStates(state: StoredState, check: Check): void {
  const { eligible, withdrawn, parked, facts, reasons, returns, probes } = state;
  const both = [...eligible.keys()].filter((id) => withdrawn.has(id));
  check(both.length === 0, `both eligible and withdrawn: ${show(both)}`);
  checkSame(check, 'members and their states', Object.keys(state.members), [...eligible.keys(), ...withdrawn.keys()]);
  checkSame(check, 'withdrawn members and standings', [...withdrawn.keys()], Object.keys(parked));
  check(
    Object.keys(facts).every((id) => id in state.members),
    'facts of members that are gone',
  );
  const counted: Record<string, string> = {};
  const idsOf: Record<string, string[]> = {};
  for (const [id, standing] of Object.entries(parked)) {
    const reason = standing.split(' ')[2] ?? '';
    counted[reason] = String(Number(counted[reason] ?? 0) + 1);
    (idsOf[reason] ??= []).push(id);
  }
  check(same(counted, reasons), `reasons are ${show(reasons)}, counted ${show(counted)}`);
  checkSame(check, 'cooling members and their returns', idsOf['cooling'] ?? [], [...returns.keys()]);
  const probed = [...(idsOf['candidate'] ?? []), ...(idsOf['unhealthy'] ?? [])];
  checkSame(check, 'members to probe and their probes', probed, [...probes.keys()]);
}

/** Every member's state is what its facts say, and they say what the pool's rules make of it. */
function checkMembers(state: StoredState, check: Check): void {
  const rules = new MemberRules(readSettings(state.settings));
  for (const [id, text] of Object.entries(state.members)) {
    const { value, labels } = readRecord(id, text);
    const { views, violation } = rules.judge({ id, value, labels });
    const known = (state.facts[id] ?? '0 - 0\n').split('\n');
    check((known[1] ?? '') === violation, `${id}: violates the policy by "${violation}", known is "${known[1]}"`);
    check(viewsOf(text) === views, `${id}: its views are "${viewsOf(text)}", not "${views}"`);
    const [, , reason = '-', returnsAt = '-'] = state.parked[id]?.split(' ') ?? [];
    const allowed = verdicts(known[0] ?? '', violation, state.nowMs);
    check(allowed.includes(reason), `${id}: is "${reason}", its facts say ${show(allowed)}`);
    if (reason === 'cooling') check(state.returns.get(id) === Number(returnsAt), `${id}: returns at another time`);
  }
}

/** The states that facts allow: a cooldown that has ended is lifted a little later. */
function verdicts(line: string, violation: string, nowMs: number): string[] {
  const [disabled, probe, coolingUntil] = line.split(' ');
  if (disabled === '1') return ['disabled'];
  if (violation !== '') return ['policy'];
  if (probe === 'c') return ['candidate'];
  if (probe === 'u') return ['unhealthy'];
  if (Number(coolingUntil) > nowMs) return ['cooling'];
  return Number(coolingUntil) > 0 ? ['-', 'cooling'] : ['-'];
}

function checkIndex({ eligible, picked, full, counts, settings }: StoredState, check: Check): void {
  const here = [...picked.keys(), ...full.keys()];
  checkSame(check, 'eligible members and the index', [...eligible.keys()], here);
  check(new Set(here).size === here.length, 'members that are both ready and full');
  if (INDEXES[settings['strategy'] ?? '']?.counts) {
    checkSame(check, 'eligible members and their counts', [...eligible.keys()], Object.keys(counts));
  }
}

/** The views hold whoever is eligible, at its rank or, at its capacity, behind all others, and nobody else. */
function checkViews({ settings, members, picked, full, views }: StoredState, check: Check): void {
  const text = (rank: number) =>
    settings['strategy'] === 'random' ? rank.toFixed(12).padStart(26, '0') : String(rank).padStart(16, '0');
  const places = [
    ...[...picked].map(([id, rank]) => [id, text(rank)] as const),
    ...[...full.keys()].map((id) => [id, FULL] as const),
  ];
  const wanted = places.flatMap(([id, place]) => {
    const names = viewsOf(members[id] ?? '').match(new RegExp(`.{${VIEW_NAME_LENGTH}}`, 'g')) ?? [];
    return names.map((name) => name + place + id);
  });
  // Those that begin with ! are of waiters.
  const found = [...views.keys()].filter((entry) => !entry.startsWith('!'));
  checkSame(check, 'entries of the views', wanted, found);
}

/** The names of views at the end of a record. */
function viewsOf(record: string): string {
  return (record.split('\n')[3] ?? '').replace('!', '');
}

function checkSame(check: Check, what: string, expected: readonly string[], found: readonly string[]): void {
  const [wanted, there] = [new Set(expected), new Set(found)];
  const missing = expected.filter((id) => !there.has(id));
  const extra = found.filter((id) => !wanted.has(id));
  check(missing.length + extra.length === 0, `${what}: missing ${show(missing)}, too many ${show(extra)}`);
}

async function readState(redis: Redis, pool: string): Promise<StoredState> {
  const names = new KeyNames('evenhand');
  const keys = names.pool(pool);
  const strategy = (await redis.hget(keys.settings, 'strategy')) ?? '';
  const index = INDEXES[strategy];
  if (!index) throw new Error(`There is no pool "${pool}", or its strategy "${strategy}" is not known here.`);
  const [picked, full, counts] = names.index(pool, strategy, [index.picked, index.full ?? '-', index.counts ?? '-']);
  const hashes: (keyof PoolKeys)[] = ['settings', 'members', 'parked', 'facts', 'reasons'];
  const zsets: (keyof PoolKeys)[] = ['eligible', 'withdrawn', 'returns', 'probes', 'views'];
  const batch = redis.multi();
  for (const name of hashes) batch.hgetall(keys[name]);
  batch.hgetall(index.counts ? counts! : keys.settings);
  for (const name of zsets) batch.zrange(keys[name], '0', '-1', 'WITHSCORES');
  for (const key of [picked!, full!]) batch.zrange(key, '0', '-1', 'WITHSCORES');
  const replies = ((await batch.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
  const state = Object.fromEntries([
    ...[...hashes, 'counts'].map((name, n) => [name, withoutPadding(replies[n] as Record<string, string>)]),
    ...[...zsets, 'picked', 'full'].map((name, n) => [name, scoresOf(replies[hashes.length + 1 + n])]),
  ]) as Omit<StoredState, 'nowMs'>;
  return { ...state, nowMs: await serverTimeMs(redis) };
}

/** Hashes have a field without a name, see lua/include/catalogue.lua. */
function withoutPadding({ '': _padding, ...fields }: Record<string, string>): Record<string, string> {
  return fields;
}

/** Redis answers members and scores in pairs, or one after the other. */
function scoresOf(reply: unknown): Scores {
  const flat = (reply as unknown[]).flat() as (string | number)[];
  return new Map(Array.from({ length: flat.length / 2 }, (_, n) => [String(flat[n * 2]), Number(flat[n * 2 + 1])]));
}

function same(one: Record<string, string>, other: Record<string, string>): boolean {
  const entries = (counts: Record<string, string>) => Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(entries(one)) === JSON.stringify(entries(other));
}

/** At most a few of many. */
function show(found: object): string {
  return JSON.stringify(found).slice(0, 200);
}
