import type { Redis } from 'ioredis';
import { LeaseService } from '../../src/selection/leases/lease.service.js';
import { givePool, type SelectionApp } from '../support/selection.app.js';

export const POOL = 'shop';

/** A strategy under the contract, with two applications that know it and share one Redis. */
export class ContractSubject {
  app!: SelectionApp;
  other!: SelectionApp;
  redis!: Redis;

  constructor(readonly strategy: string) {}

  /** The pool under test, with this strategy and such members. */
  async fill(members: Parameters<typeof givePool>[2]): Promise<void> {
    await givePool(this.app, POOL, members, { strategy: this.strategy });
  }

  /** The id that the next selection falls on; its lease, where there is one, is completed at once. */
  async pick(app: SelectionApp = this.app): Promise<string | undefined> {
    const { selection } = await app.selection.select(POOL);
    if (selection?.lease) await app.context.get(LeaseService).complete(POOL, selection.lease.id);
    return selection?.member.id;
  }
}
