import type { JobView, RequestView } from '../../src/dispatch/job.types.js';
import type { QueueView } from '../../src/dispatch/queue.view.js';
import type { RequestReceipt } from '../../src/dispatch/request.intake.js';
import { type ScrapydOptions, ScrapydServer } from './scrapyd.server.js';
import { type RedisServer, type StartRedisOptions, startRedis } from './redis.server.js';
import { RunningService } from './service.js';
import { waitUntil } from './wait.until.js';

/** Quick enough for tests: who has died is missed after a second. */
const TAKEOVER_MS = 1_000;
const QUEUE = {
  pool: 'nodes',
  limit: 4,
  launcher: { type: 'scrapyd', project: 'shop', spider: 'crawl' },
  pollMs: 100,
  callMs: 1_000,
  leaseTtlMs: 5_000,
  retry: { backoffMs: 200, attempts: 10 },
};

/** A crawler back end: daemons, a Redis, and service processes that start crawls. */
export class CrawlServices {
  readonly services: RunningService[] = [];
  readonly daemons: ScrapydServer[] = [];

  private constructor(readonly redis: RedisServer) {}

  static async start(options: StartRedisOptions = {}): Promise<CrawlServices> {
    return new CrawlServices(await startRedis(options));
  }

  /** One that answers. */
  get service(): RunningService {
    const running = this.services.findLast(({ child }) => child.exitCode === null && child.signalCode === null);
    if (!running) throw new Error('no service process is left');
    return running;
  }

  get daemon(): ScrapydServer {
    return this.daemons[0] as ScrapydServer;
  }

  /** The newest one is asked first. */
  async addService(env: Record<string, string> = {}): Promise<RunningService> {
    const service = await RunningService.start({
      REDIS_URL: this.redis.url,
      DISPATCH_TAKEOVER_MS: String(TAKEOVER_MS),
      ...env,
    });
    this.services.push(service);
    return service;
  }

  /** A daemon, as the node `node-<number>` of the pool. */
  async addDaemon(options: ScrapydOptions = {}): Promise<ScrapydServer> {
    const daemon = await ScrapydServer.start(options);
    this.daemons.push(daemon);
    await this.addNode(`node-${this.daemons.length}`, daemon.address);
    return daemon;
  }

  async addNode(id: string, value: string): Promise<void> {
    await this.call('PUT', '/v1/pools/nodes', {});
    await this.call('POST', '/v1/pools/nodes/members', { members: [{ id, value }] });
  }

  async removeNode(id: string): Promise<void> {
    await this.call('DELETE', `/v1/pools/nodes/members/${id}`);
  }

  /** The pool of the nodes, and the queue. */
  async setUp({
    capacity = null,
    ...changes
  }: { capacity?: number | null } & Record<string, unknown> = {}): Promise<void> {
    await this.call('PUT', '/v1/pools/nodes', { strategy: 'least-concurrency', capacity });
    await this.call('PUT', '/v1/queues/crawls', { ...QUEUE, ...changes });
  }

  /** Asks for so many jobs, which run for `ms`. */
  async submit(
    count: number,
    { ms, ...request }: { ms?: number } & Record<string, unknown> = {},
  ): Promise<RequestReceipt> {
    const jobs = Array.from({ length: count }, (_, n) => ({
      payload: { args: { n, ...(ms === undefined ? {} : { ms }) } },
    }));
    return this.call<RequestReceipt>('POST', '/v1/queues/crawls/requests', { ...request, jobs });
  }

  queue(): Promise<QueueView> {
    return this.call<QueueView>('GET', '/v1/queues/crawls');
  }

  job(id: string): Promise<JobView> {
    return this.call<JobView>('GET', `/v1/queues/crawls/jobs/${id}`);
  }

  request(id: string): Promise<RequestView> {
    return this.call<RequestView>('GET', `/v1/queues/crawls/requests/${id}`);
  }

  async untilQueue(what: string, isSo: (queue: QueueView) => boolean, deadlineMs = 30_000): Promise<QueueView> {
    let queue: QueueView | undefined;
    await waitUntil(async () => isSo((queue = await this.queue())), { what, deadlineMs }).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(queue)}`, { cause: error });
    });
    return queue as QueueView;
  }

  /** Waits until no job is left, and no node leased. */
  async untilIdle(deadlineMs = 60_000): Promise<void> {
    const isIdle = ({ waiting, starting, running }: QueueView) => waiting + starting + running === 0;
    await this.untilQueue('all jobs to have ended', isIdle, deadlineMs);
    const isFree = async () => (await this.call<{ inFlight: number }>('GET', '/v1/pools/nodes')).inFlight === 0;
    await waitUntil(isFree, { what: 'all nodes to be given back', deadlineMs: 10_000 });
  }

  async call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await this.service.call<Body>(method, path, body);
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async stop(): Promise<void> {
    await Promise.all(this.services.map((service) => service.stop('SIGKILL')));
    await Promise.all(this.daemons.map((daemon) => daemon.stop()));
    await this.redis.stop();
  }
}
