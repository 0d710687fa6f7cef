import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { EmptySourceError, ImportRunningError, ValidationFailedError } from '../errors/domain.errors.js';
import type { ImportReport } from '../pool/member.importer.js';
import { PoolService } from '../pool/pool.service.js';
import { StrategyRegistry } from '../selection/strategies/strategy.registry.js';
import { PoolsFileError } from './pools.file.error.js';
import { type PoolSetup, type PoolsFile, readPoolsFile } from './pools.file.js';
import { POOLS_SETUP_OPTIONS, type PoolsSetupOptions } from './pools.setup.options.js';
import { MAX_REJECTED_SHOWN, type ReadSource, readSource, shownSource } from './source.reader.js';
import { SourceError } from './source.error.js';

const RETRY_MS = 250;

/** A pool with its lists read; no lists where there are none, or one of them could not be had. */
interface ReadyPool {
  setup: PoolSetup;
  sources: readonly ReadSource[];
}

/** Sets up the pools of a pools file. Running it again changes nothing. */
@Injectable()
export class PoolsFileSetup {
  private readonly logger = new Logger('PoolsFile');

  constructor(
    private readonly pools: PoolService,
    private readonly strategies: StrategyRegistry,
    @Inject(POOLS_SETUP_OPTIONS) private readonly options: PoolsSetupOptions,
  ) {}

  /**
   * Reads and checks everything, then writes the settings, then imports the lists. A URL that cannot be read is logged, and
   * its pool keeps the members that it has.
   *
   * @throws PoolsFileError | StrategyUnknownError before the first write
   */
  async run(path: string): Promise<void> {
    const file = await readPoolsFile(path);
    for (const { settings } of file.pools) if (settings.strategy !== undefined) this.strategies.get(settings.strategy);
    const ready = await this.readAll(file, dirname(path));
    for (const { setup } of ready) await this.putSettings(setup, file);
    for (const pool of ready) if (pool.sources.length > 0) await this.importInto(pool);
  }

  private async readAll(file: PoolsFile, directory: string): Promise<ReadyPool[]> {
    const ready: ReadyPool[] = [];
    const problems: string[] = [];
    for (const setup of file.pools)
      ready.push({ setup, sources: await this.readSources(setup, file, directory, problems) });
    if (problems.length > 0) throw new PoolsFileError(problems);
    return ready;
  }

  /** All sources of a pool, or none; what is wrong with a file goes to `problems`. */
  private async readSources(
    { name, members }: PoolSetup,
    file: PoolsFile,
    directory: string,
    problems: string[],
  ): Promise<ReadSource[]> {
    if (!members) return [];
    const { sources, defaultScheme } = members;
    const context = { directory, defaultScheme, limits: this.options };
    const read: ReadSource[] = [];
    for (const [index, source] of sources.entries()) {
      try {
        read.push(await readSource(source, context));
      } catch (error) {
        if (!(error instanceof SourceError)) throw error;
        const path = ['pools', name, 'members', 'sources', index, source.kind];
        if (source.kind === 'file') problems.push(file.problem(path, error.message));
        else this.logger.warn(`Pool "${name}": ${shownSource(source)} ${error.message}; its members stay as they are.`);
      }
    }
    return read.length === sources.length ? read : [];
  }

  private async putSettings({ name, settings }: PoolSetup, file: PoolsFile): Promise<void> {
    try {
      await this.pools.put(name, settings);
    } catch (error) {
      if (!(error instanceof ValidationFailedError)) throw error;
      const lines = error.problems.map(({ path, message }) =>
        file.problem(['pools', name, ...path.split('.')], message),
      );
      throw new PoolsFileError(lines, { cause: error });
    }
  }

  private async importInto({ setup, sources }: ReadyPool): Promise<void> {
    try {
      const report = await this.importWaiting(setup, sources);
      this.logger.log(`Pool "${setup.name}": ${summary(report)}.`);
    } catch (error) {
      if (!(error instanceof EmptySourceError || error instanceof ImportRunningError)) throw error;
      this.logger.warn(error.message);
    }
    for (const line of sources.flatMap(({ rejected }) => rejected).slice(0, MAX_REJECTED_SHOWN)) {
      this.logger.warn(`Pool "${setup.name}": rejected ${line}`);
    }
  }

  /** Other processes of the same deployment may be at the same import: theirs ends first. */
  private async importWaiting({ name, members }: PoolSetup, sources: readonly ReadSource[]): Promise<ImportReport> {
    const { mode, defaultScheme } = members ?? {};
    const giveUpAt = performance.now() + this.options.importWaitMs;
    for (;;) {
      try {
        return await this.pools.importMembers(name, sources, { mode, defaultScheme });
      } catch (error) {
        if (!(error instanceof ImportRunningError) || performance.now() >= giveUpAt) throw error;
        await sleep(RETRY_MS);
      }
    }
  }
}

function summary({
  added,
  updated,
  restored,
  unchanged,
  duplicates,
  removed,
  total,
  rejectedTotal,
}: ImportReport): string {
  const done = `${added} added, ${updated} updated, ${restored} restored, ${unchanged} unchanged, ${removed} removed`;
  return `${done}, ${duplicates} duplicates, ${rejectedTotal} rejected, ${total} members in all`;
}
