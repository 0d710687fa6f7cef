import { waitUntil } from '../support/wait.until.js';
import type { LeaseModel } from './lease.model.js';
import { type Real, Step } from './lease.step.js';

/** Time passes: every expiry comes nearer. */
export class Pass extends Step {
  constructor(readonly ms: number) {
    super();
  }
  protected async step(model: LeaseModel, { pool, redis }: Real): Promise<void> {
    const key = `evenhand:{${pool}}:leases`;
    const names = await redis.zrange(key, '0', '-1');
    const shift = redis.multi();
    for (const name of names) shift.zincrby(key, -this.ms, name);
    // Nothing expires before the pool is due.
    const settings = `evenhand:{${pool}}:settings`;
    if (await redis.hexists(settings, 'due')) shift.hincrby(settings, 'due', -this.ms);
    await shift.exec();
    model.nowMs += this.ms;
  }
  toString = () => `pass(${this.ms})`;
}

export class Configure extends Step {
  constructor(readonly changes: { capacity?: number | null; limit?: number | null }) {
    super();
  }
  protected async step(model: LeaseModel, { pool, pools }: Real): Promise<void> {
    await pools.put(pool, this.changes);
    // It does what is due on the way.
    model.expire();
    Object.assign(model, this.changes);
  }
  toString = () => `configure(${JSON.stringify(this.changes)})`;
}

export class Declare extends Step {
  constructor(readonly hasFilter: boolean) {
    super();
  }
  protected async step(model: LeaseModel, { pool, pools }: Real): Promise<void> {
    await pools.put(pool, { filters: this.hasFilter ? [['country']] : [] });
    model.expire();
    model.hasFilter = this.hasFilter;
  }
  toString = () => `declare(${this.hasFilter})`;
}

export class Fault extends Step {
  constructor(readonly kind: 'script flush' | 'restart' | 'cut') {
    super();
  }
  protected async step(_model: LeaseModel, { server, redis, proxy, selection, lossy }: Real): Promise<void> {
    if (this.kind === 'script flush') await redis.script('FLUSH');
    else if (this.kind === 'restart') await server.restart();
    else proxy.cut();
    for (const service of [selection, lossy]) {
      await waitUntil(() => service.requireReady().then(() => true), { what: 'the connection to be back' });
    }
    await waitUntil(() => redis.ping().then(() => true), { what: 'the connection of the test to be back' });
  }
  toString = () => this.kind;
}
