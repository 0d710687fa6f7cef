/** While fewer calls are under way each goes out at once: Redis and this process are both kept busy. */
const DIRECT_BELOW = 2;
/** Calls that go out as one, so that several batches are under way at the same time. */
const MAX_BATCH = 32;

interface Gathered<Ask, Answer> {
  ask: Ask;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/** Sends calls that can go out together as batches, those of one turn of the event loop, when many are under way. */
export class CallGatherer<Ask, Answer> {
  private underWay = 0;
  private gathered: Gathered<Ask, Answer>[] = [];

  private readonly done = (): void => {
    this.underWay--;
  };

  /**
   * @param sendOne answers what it is given
   * @param send answers each of what it is given, in that order
   */
  constructor(
    private readonly sendOne: (ask: Ask) => Promise<Answer>,
    private readonly send: (asks: readonly Ask[]) => Promise<readonly Answer[]>,
  ) {}

  call(ask: Ask): Promise<Answer> {
    if (this.underWay >= DIRECT_BELOW) return this.gather(ask);
    this.underWay++;
    const answer = this.sendOne(ask);
    answer.then(this.done, this.done);
    return answer;
  }

  private gather(ask: Ask): Promise<Answer> {
    if (this.gathered.length === 0) {
      process.nextTick(() => {
        this.flush();
      });
    }
    return new Promise((resolve, reject) => this.gathered.push({ ask, resolve, reject }));
  }

  private flush(): void {
    const all = this.gathered;
    this.gathered = [];
    for (let at = 0; at < all.length; at += MAX_BATCH) void this.sendBatch(all.slice(at, at + MAX_BATCH));
  }

  private async sendBatch(batch: readonly Gathered<Ask, Answer>[]): Promise<void> {
    this.underWay += batch.length;
    try {
      const answers = await this.send(batch.map(({ ask }) => ask));
      batch.forEach(({ resolve }, n) => {
        resolve(answers[n] as Answer);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.underWay -= batch.length;
    }
  }
}
