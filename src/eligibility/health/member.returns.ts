import { Injectable } from '@nestjs/common';
import type { StoredPool } from '../../pool/pool.directory.js';
import { PoolScripts } from '../../pool/pool.scripts.js';
import type { UpkeepStep } from '../../pool/upkeep.step.js';

/** Members that return in one step. */
const STEP = 100;

/** Lets members return whose cooldown has ended. */
@Injectable()
export class MemberReturns {
  constructor(private readonly scripts: PoolScripts) {}

  stepOf({ name }: StoredPool): UpkeepStep {
    return async () => {
      const [, more, nextMs] = await this.scripts.run('return', name, [STEP]);
      return { more: more === 1, nextMs: Number(nextMs) < 0 ? null : Number(nextMs) };
    };
  }
}
