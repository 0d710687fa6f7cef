import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { fingerprintOf } from '../eligibility/rules/fingerprint.js';
import { RedisUnavailableError, RequestIdReusedError, ValidationFailedError } from '../errors/domain.errors.js';
import { parseInput } from '../errors/parse.input.js';
import { DueIndex } from '../pool/due.index.js';
import { redisCall } from '../redis/redis.call.js';
import type { RedisClient } from '../redis/redis.client.js';
import { RedisScript } from '../redis/redis.script.js';
import { REDIS_CLIENT } from '../redis/redis.tokens.js';
import { loadScript } from '../redis/script.loader.js';
import { QueueFullError, QueueNotFoundError } from './dispatch.errors.js';
import { newToken } from './job.store.js';
import { type CheckedJobRequest, type JobRequest, MAX_WAITING, jobIdOf, jobRequestSchema } from './job.types.js';
import { LauncherRegistry } from './launcher/launcher.registry.js';
import { QueueDirectory, type StoredQueue } from './queue.directory.js';
import { QueueKeyNames } from './queue.keys.js';

const STAGE = new RedisScript(loadScript('dispatch/stage.lua'));
const ACCEPT = new RedisScript(loadScript('dispatch/accept.lua'));

/** Payloads that are written in one step. */
const CHUNK = 500;
/** Payloads of a request that is never taken in go after this long. */
const STAGED_MS = 60_000;
const MAX_PROBLEMS = 20;
const ID_LENGTH = 24;

type Accepted = 'ACCEPTED' | 'KNOWN' | 'MISSING' | 'REUSED' | 'FULL' | 'UNSTAGED';

/** What a request is answered with. */
export interface RequestReceipt {
  id: string;
  /** Ids of its jobs, in their order. */
  jobs: string[];
}

/** Takes requests in: whole, or not at all. */
@Injectable()
export class RequestIntake {
  constructor(
    @Inject(REDIS_CLIENT) private readonly redis: RedisClient,
    private readonly names: QueueKeyNames,
    private readonly queues: QueueDirectory,
    private readonly launchers: LauncherRegistry,
    private readonly due: DueIndex,
  ) {}

  /** @throws QueueNotFoundError | ValidationFailedError | RequestIdReusedError | QueueFullError */
  async take(name: string, request: JobRequest): Promise<RequestReceipt> {
    const queue = await this.queues.read(name);
    const checked = parseInput(jobRequestSchema, request);
    const { requestId } = checked;
    const id = requestId === undefined ? newToken() : idFrom(requestId);
    const receipt = { id, jobs: checked.jobs.map((_, number) => jobIdOf(id, number)) };
    const digest = fingerprintOf(checked);
    // Its payloads were for the queue as it was then.
    if (requestId !== undefined && (await this.isKnown(queue, id, digest))) {
      await this.due.register(name);
      return receipt;
    }
    this.checkPayloads(queue, checked);
    const staged = this.names.staged(name, newToken());
    await this.stage(staged, checked);
    // Whoever looks at the queue then finds what was taken in, should this process die; or later, should this take longer.
    await this.due.register(name);
    const word = await this.accept(queue, { id, staged, digest, checked });
    await this.due.register(name);
    if (word !== 'ACCEPTED') await redisCall(this.redis.unlink(staged));
    if (word === 'MISSING') throw new QueueNotFoundError(name);
    if (word === 'REUSED') throw new RequestIdReusedError();
    if (word === 'FULL') throw new QueueFullError(name, MAX_WAITING);
    if (word === 'UNSTAGED') throw new RedisUnavailableError('Taking the request in took too long. Try again.');
    return receipt;
  }

  /** @throws RequestIdReusedError */
  private async isKnown({ name }: StoredQueue, id: string, digest: string): Promise<boolean> {
    const known = await redisCall(this.redis.hget(this.names.request(name, id).request, 'digest'));
    if (known !== null && known !== digest) throw new RequestIdReusedError();
    return known !== null;
  }

  private checkPayloads({ settings }: StoredQueue, { jobs }: CheckedJobRequest): void {
    const { type, ...options } = settings.launcher;
    const launcher = this.launchers.find(type);
    const problems = [];
    for (const [number, { payload }] of jobs.entries()) {
      const problem = launcher?.checkPayload?.(payload, options);
      if (!problem) continue;
      const path = [`jobs.${number}.payload`, problem.path].filter((part) => part !== '').join('.');
      problems.push({ path, message: problem.message });
      if (problems.length >= MAX_PROBLEMS) break;
    }
    const [first] = problems;
    if (first) throw new ValidationFailedError(`"${first.path}": ${first.message}.`, problems);
  }

  private async stage(key: string, { jobs }: CheckedJobRequest): Promise<void> {
    for (let at = 0; at < jobs.length; at += CHUNK) {
      const fields = jobs.slice(at, at + CHUNK).flatMap(({ payload }, n) => [String(at + n), JSON.stringify(payload)]);
      await STAGE.run(this.redis, [key], [STAGED_MS, ...fields]);
    }
  }

  private async accept(
    { name, keys }: StoredQueue,
    { id, staged, digest, checked }: { id: string; staged: string; digest: string; checked: CheckedJobRequest },
  ): Promise<Accepted> {
    const { request, payloads } = this.names.request(name, id);
    const { requestId, owner, priority, jobs } = checked;
    const fields = ['requestId', requestId ?? '', 'owner', owner ?? '', 'priority', priority];
    return (await ACCEPT.run(
      this.redis,
      [keys.queue, keys.line, keys.requests, keys.ends, request, staged, payloads],
      [id, digest, jobs.length, priority, MAX_WAITING, ...fields],
    )) as Accepted;
  }
}

function idFrom(requestId: string): string {
  return createHash('sha256').update(requestId).digest('hex').slice(0, ID_LENGTH);
}
