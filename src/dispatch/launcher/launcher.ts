import type { Labels } from '../../pool/member.js';

/** A node as a launcher sees it: a member of the pool that the queue names. */
export interface LauncherNode {
  /** The member's id; never secret. */
  id: string;
  /** The member's value, such as `http://user:password@host:6800`; may be secret. */
  address: string;
  labels: Labels;
}

/** What is to be started. */
export interface LauncherJob {
  /** Made before the start, new for every attempt: the id of the job, `-` and 12 random hexadecimal digits. */
  externalId: string;
  /** What the request gave, as JSON. */
  payload: Readonly<Record<string, unknown>>;
}

/**
 * Where a node says that a job is: accepted and not begun, running, ended well, ended badly; `unknown` where the node answered and does
 * not know it.
 */
export type LauncherState = 'pending' | 'running' | 'finished' | 'failed' | 'unknown';

export interface LauncherStatus {
  state: LauncherState;
  /** One sentence for people where it failed; shows no secret. */
  detail?: string;
}

/**
 * The node has not started the job and will not by this call: it refused it, or the call never reached it. Shows no secret.
 * Any other error of `start` leaves open whether the job was started.
 */
export class LaunchRefusedError extends Error {
  /** Whose fault it is: a node at fault gets no job for a while. */
  readonly fault: 'job' | 'node';

  constructor(message: string, { fault = 'job', ...options }: { fault?: 'job' | 'node'; cause?: unknown } = {}) {
    super(message, options);
    this.name = 'LaunchRefusedError';
    this.fault = fault;
  }
}

/** A node gave no answer that says anything: none in time, or not the one that was to be expected. Shows no secret. */
export class LauncherCallError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'LauncherCallError';
  }
}

/**
 * Starts jobs on nodes and says what became of them. It keeps nothing: after a process died another one asks for the same
 * jobs. Every call ends when its signal fires, at the latest; messages of errors are shown to people and must hold no secret.
 *
 * @typeParam Options what a queue sets for its launcher, checked by `parseOptions`
 */
export interface Launcher<Options = unknown> {
  /** As queues name it in `launcher.type`. */
  readonly name: string;

  /**
   * Checks what a queue sets besides `type`, and puts in the defaults.
   *
   * @throws ValidationFailedError with paths below `launcher`
   */
  parseOptions(options: unknown): Options;

  /** What is wrong with a payload, before anything is taken in; undefined where nothing is. The path is one within the payload. */
  checkPayload?(
    payload: Readonly<Record<string, unknown>>,
    options: Options,
  ): { path: string; message: string } | undefined;

  /**
   * Starts a job.
   *
   * @throws LaunchRefusedError where it was certainly not started; after any other error the node is asked before it is told again
   */
  start(node: LauncherNode, job: LauncherJob, options: Options, signal: AbortSignal): Promise<void>;

  /**
   * Where jobs of one node are, by their external id; one that is missing counts as `unknown`, and an error says that the node did not
   * say it of this one.
   *
   * @throws LauncherCallError where the node does not say it of any
   */
  status(
    node: LauncherNode,
    jobs: readonly LauncherJob[],
    options: Options,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, LauncherStatus | LauncherCallError>>;

  /** Asks the node to end a job; it has ended when `status` says so. @throws LauncherCallError */
  cancel(node: LauncherNode, job: LauncherJob, options: Options, signal: AbortSignal): Promise<void>;

  /**
   * How many jobs the node has accepted and not finished, whoever started them; null where it cannot say.
   *
   * @throws LauncherCallError where the node does not answer
   */
  load(node: LauncherNode, options: Options, signal: AbortSignal): Promise<number | null>;
}
