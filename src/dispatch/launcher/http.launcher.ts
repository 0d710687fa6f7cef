import { Injectable } from '@nestjs/common';
import { parseInput } from '../../errors/parse.input.js';
import { type HttpLauncherOptions, NAMED_STATES, httpOptionsSchema } from './http.options.js';
import {
  LaunchRefusedError,
  type Launcher,
  LauncherCallError,
  type LauncherJob,
  type LauncherNode,
  type LauncherStatus,
} from './launcher.js';
import { type NodeAnswer, NodeNotReachedError, callNode, jsonOf, quoted } from './node.http.js';

/** Statuses of jobs that are asked for at the same time. */
const AT_ONCE = 16;

/** Starts jobs by a POST to the node and asks for their state by a GET, with paths and fields as the queue names them. */
@Injectable()
export class HttpLauncher implements Launcher<HttpLauncherOptions> {
  readonly name = 'http';

  parseOptions(options: unknown): HttpLauncherOptions {
    return parseInput(httpOptionsSchema, options, 'launcher');
  }

  checkPayload(
    payload: Readonly<Record<string, unknown>>,
    { start }: HttpLauncherOptions,
  ): { path: string; message: string } | undefined {
    if (start.payloadField !== undefined || !Object.hasOwn(payload, start.idField)) return undefined;
    return { path: start.idField, message: 'is the field that holds the id of the job' };
  }

  /** A 2xx is a start, a 4xx a refusal; after anything else the node is asked. */
  async start(
    node: LauncherNode,
    { externalId, payload }: LauncherJob,
    { start }: HttpLauncherOptions,
    signal: AbortSignal,
  ): Promise<void> {
    const { idField, payloadField, path } = start;
    const body = { ...(payloadField === undefined ? payload : { [payloadField]: payload }), [idField]: externalId };
    const answer = await callNode(node.address, { method: 'POST', path: withId(path, externalId), body }, signal).catch(
      (error: unknown) => {
        if (!(error instanceof NodeNotReachedError)) throw error;
        throw new LaunchRefusedError(error.message, { fault: 'node', cause: error });
      },
    );
    if (isOk(answer)) return;
    const { status } = answer;
    if (status < 400 || status >= 500 || status === 408)
      throw new LauncherCallError(`the node answered HTTP ${status}`);
    const isNodes = status === 401 || status === 403 || status === 404 || status === 429;
    throw new LaunchRefusedError(`the node refused the job (HTTP ${status}): ${quoted(answer.text, answer)}`, {
      fault: isNodes ? 'node' : 'job',
    });
  }

  /** Each job for itself: one of which the node says nothing sensible keeps no other from being seen. */
  async status(
    node: LauncherNode,
    jobs: readonly LauncherJob[],
    options: HttpLauncherOptions,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, LauncherStatus | LauncherCallError>> {
    const found = new Map<string, LauncherStatus | LauncherCallError>();
    const left = fromAnywhere(jobs);
    const asker = async () => {
      for (let job = left.shift(); job; job = left.shift()) {
        found.set(job.externalId, await this.statusOf(node, job, options, signal).catch(asAnswer));
      }
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, jobs.length) }, asker));
    return found;
  }

  /** Where the queue names no path for it, the job runs on to its own end. */
  async cancel(
    node: LauncherNode,
    { externalId }: LauncherJob,
    { cancel }: HttpLauncherOptions,
    signal: AbortSignal,
  ): Promise<void> {
    if (!cancel) throw new LauncherCallError('the queue names no path for it');
    const { method, path } = cancel;
    const answer = await callNode(node.address, { method, path: withId(path, externalId) }, signal);
    if (!isOk(answer) && answer.status !== 404) throw new LauncherCallError(`the node answered HTTP ${answer.status}`);
  }

  async load(node: LauncherNode, { load }: HttpLauncherOptions, signal: AbortSignal): Promise<number | null> {
    if (!load) return null;
    const answer = await callNode(node.address, { method: 'GET', path: load.path }, signal);
    const count = isOk(answer) ? fieldOf(answer, load.field) : undefined;
    if (Number.isSafeInteger(count) && (count as number) >= 0) return count as number;
    throw new LauncherCallError(`the node did not say how many jobs it has (HTTP ${answer.status})`);
  }

  private async statusOf(
    node: LauncherNode,
    { externalId }: LauncherJob,
    { status }: HttpLauncherOptions,
    signal: AbortSignal,
  ): Promise<LauncherStatus> {
    const answer = await callNode(node.address, { method: 'GET', path: withId(status.path, externalId) }, signal);
    if (answer.status === 404) return { state: 'unknown' };
    const said = isOk(answer) ? fieldOf(answer, status.stateField) : undefined;
    const state = isWord(said) ? NAMED_STATES.find((each) => status[each].includes(String(said))) : undefined;
    if (!state) {
      throw new LauncherCallError(`the node gave no state that the queue knows (HTTP ${answer.status})`);
    }
    const detail = status.detailField === undefined ? undefined : fieldOf(answer, status.detailField);
    return detail === undefined ? { state } : { state, detail: quoted(detail, answer) };
  }
}

/** When there is no time for all, it is not always the same ones that are left. */
function fromAnywhere<T>(jobs: readonly T[]): T[] {
  const from = Math.floor(Math.random() * jobs.length);
  return [...jobs.slice(from), ...jobs.slice(0, from)];
}

function asAnswer(error: unknown): LauncherCallError {
  if (error instanceof LauncherCallError) return error;
  throw error;
}

function isOk({ status }: NodeAnswer): boolean {
  return status >= 200 && status < 300;
}

function isWord(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function withId(path: string, id: string): string {
  return path.replaceAll('{id}', encodeURIComponent(id));
}

/** A field of the JSON of an answer; dots lead into objects. */
function fieldOf(answer: NodeAnswer, field: string): unknown {
  let value: unknown = jsonOf(answer);
  for (const part of field.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
