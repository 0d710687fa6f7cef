import { ConfigurationError } from './config/configuration.error.js';
import { readEnvironment } from './config/environment.js';
import { EvenhandError } from './errors/evenhand.error.js';
import { EmbeddedRedisError } from './redis/embedded/embedded.error.js';
import { PoolsFileError } from './pool-setup/pools.file.error.js';
import { Service } from './service.js';

const INTERRUPTED = 130;
/** Errors that are told in plain words. */
const EXPECTED = [ConfigurationError, EvenhandError, EmbeddedRedisError, PoolsFileError];

/** What a signal ends: the service, or a start that is still under way, which then ends as soon as it is done. */
class Running {
  private service: Service | undefined;
  private stopping = false;

  async start(): Promise<void> {
    this.service = await Service.start(readEnvironment(process.env));
    if (this.stopping) return this.end();
    console.log(welcome(this.service.url));
  }

  readonly stop = (signal: NodeJS.Signals): void => {
    if (this.stopping) process.exit(INTERRUPTED);
    this.stopping = true;
    console.log(`${signal}: ending what is under way. Again to end at once.`);
    if (this.service) this.end().catch(fail);
  };

  private async end(): Promise<void> {
    await this.service?.stop();
    process.exit(0);
  }
}

function welcome(url: string): string {
  return `
Evenhand is up.
  API            ${url}/v1/pools
  Documentation  ${url}/docs

Try it:
  curl -X PUT ${url}/v1/pools/shop
  curl ${url}/v1/pools/shop/members -H 'content-type: text/plain' --data-binary $'192.0.2.1:8080\\n192.0.2.2:8080'
  curl -X POST ${url}/v1/pools/shop/selections
`;
}

/** What the operator can mend is told in plain words, what is a fault of ours with its stack. */
function fail(error: unknown): never {
  console.error(isExpected(error) ? error.message : error);
  process.exit(1);
}

function isExpected(error: unknown): error is Error {
  if (EXPECTED.some((kind) => error instanceof kind)) return true;
  return error instanceof Error && 'syscall' in error && error.syscall === 'listen';
}

const running = new Running();
process.on('SIGINT', running.stop);
process.on('SIGTERM', running.stop);
running.start().catch(fail);
