import type { CallTraffic } from './call.traffic.js';

/**
 * What goes out as one is an eighth of what has gathered, within these bounds: several batches are under way at the same
 * time, so that neither Redis nor this process waits for the other, and no script holds Redis for long.
 */
const [SMALLEST_BATCH, LARGEST_BATCH] = [16, 32];

interface Gathered<Ask, Answer> {
  ask: Ask;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/**
 * Sends calls of one kind that arrive in one turn of the event loop as batches, in the order in which they came; but each
 * at once while little is under way.
 */
export class CallGatherer<Ask, Answer> {
  private gathered: Gathered<Ask, Answer>[] = [];

  /**
   * @param directBelow while fewer calls are under way each goes out at once: to gather them would make Redis and this
   *   process take turns
   * @param sendOne answers what it is given
   * @param sendAll answers each of what it is given, in that order; what it throws is thrown to every caller
   */
  constructor(
    private readonly traffic: CallTraffic,
    private readonly directBelow: number,
    private readonly sendOne: (ask: Ask) => Promise<Answer>,
    private readonly sendAll: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
  ) {}

  call(ask: Ask): Promise<Answer> {
    if (this.traffic.underWay >= this.directBelow || this.gathered.length > 0) return this.gather(ask);
    return this.sendNow(ask);
  }

  private async sendNow(ask: Ask): Promise<Answer> {
    this.traffic.underWay++;
    try {
      return await this.sendOne(ask);
    } finally {
      this.traffic.underWay--;
    }
  }

  private gather(ask: Ask): Promise<Answer> {
    if (this.gathered.length === 0) setImmediate(this.flush);
    return new Promise((resolve, reject) => this.gathered.push({ ask, resolve, reject }));
  }

  private readonly flush = (): void => {
    const all = this.gathered;
    this.gathered = [];
    const size = Math.min(LARGEST_BATCH, Math.max(SMALLEST_BATCH, Math.ceil(all.length / 8)));
    for (let at = 0; at < all.length; at += size) void this.send(all.slice(at, at + size));
  };

  private async send(batch: readonly Gathered<Ask, Answer>[]): Promise<void> {
    this.traffic.underWay += batch.length;
    try {
      const answers = await this.sendAll(batch.map(({ ask }) => ask));
      batch.forEach(({ resolve }, n) => {
        resolve(answers[n] as Answer);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.traffic.underWay -= batch.length;
    }
  }
}
