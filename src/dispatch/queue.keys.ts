/** The keys of one queue; all of them share the hash tag `{queue}`, and so one slot of a cluster. */
export interface QueueKeys {
  /** Hash: the queue's settings and counts. */
  queue: string;
  /** Sorted set: job that is starting or running -> when a process last watched it, in milliseconds. */
  active: string;
  /** Hash: state and node -> how many jobs. */
  nodes: string;
  /** Hash: node that gets no job for a while -> until when, and why. */
  resting: string;
  /** Sorted set: job that is to be started again -> when, in milliseconds. */
  retries: string;
  /** Set: jobs that are starting or running and are not wanted any more. */
  cancels: string;
  /** Hash: job that is starting or running -> token of the process that acts on it. */
  owners: string;
  /** Sorted set: request that has ended -> when it is forgotten, in milliseconds. */
  ends: string;
  /** Sorted set: request that has jobs which were never started -> its place in the line. */
  line: string;
  /** Sorted set: request -> its place in the order of arrival. */
  requests: string;
}

/** The keys of one request of a queue. */
export interface RequestKeys {
  /** Hash: what was asked for, and how many of its jobs are in which state. */
  request: string;
  /** Hash: number of a job -> its record, and its log. */
  jobs: string;
  /** Hash: number of a job -> its payload. */
  payloads: string;
}

/** Every key of dispatch is named here. */
export class QueueKeyNames {
  /** @param prefix first part of every key of Evenhand */
  constructor(private readonly prefix: string) {}

  /** Sorted set, all scores 0: the names of all queues. */
  queues(): string {
    return `${this.prefix}:queues`;
  }

  /** Sorted set: queue, or an entry that registers it -> when it is to be looked at, in milliseconds. */
  due(): string {
    return `${this.prefix}:queues-due`;
  }

  /** First part of the keys that BullMQ makes for the runs of jobs. */
  runs(): string {
    return `${this.prefix}:dispatch:{runs}`;
  }

  queue(name: string): QueueKeys {
    const at = (part: string) => this.queueKey(name, part);
    return {
      queue: at('queue'),
      active: at('active'),
      nodes: at('nodes'),
      resting: at('resting'),
      retries: at('retries'),
      cancels: at('cancels'),
      owners: at('owners'),
      ends: at('ends'),
      line: at('line'),
      requests: at('requests'),
    };
  }

  request(queue: string, id: string): RequestKeys {
    const at = (part: string) => this.queueKey(queue, `${part}:${id}`);
    return { request: at('request'), jobs: at('jobs'), payloads: at('payloads') };
  }

  /** Hash: payloads of a request that is being taken in. */
  staged(queue: string, token: string): string {
    return this.queueKey(queue, `staged:${token}`);
  }

  private queueKey(queue: string, part: string): string {
    return `${this.prefix}:dispatch:{${queue}}:${part}`;
  }
}

/** The keys in the order in which lua/include/dispatch-job.lua takes them. */
export function jobKeys(queue: QueueKeys, request: RequestKeys): string[] {
  return [
    queue.queue,
    queue.active,
    queue.nodes,
    queue.retries,
    queue.cancels,
    queue.ends,
    request.request,
    request.jobs,
    request.payloads,
    queue.line,
    queue.owners,
  ];
}
