import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exited, killAtExit } from './child.processes.js';
import { freePort } from './free.port.js';
import { waitUntil } from './wait.until.js';

/** A shell command that starts scrapyd in the directory that it is run in, such as `scrapyd`; undefined: there is none here. */
export const SCRAPYD_COMMAND = process.env['SCRAPYD_COMMAND'];

const USER = 'op:s3cret';
/** Runs for as many seconds as its argument says, in short steps; takes a second to close, and leaves files when it has begun and closed. */
const SPIDER = `
import pathlib
import time
import scrapy
from scrapy.utils.defer import maybe_deferred_to_future

class Crawl(scrapy.Spider):
    name = "crawl"
    custom_settings = {"TELNETCONSOLE_ENABLED": False}

    def start_requests(self):
        pathlib.Path("begun-" + self._job).touch()
        self.until = time.monotonic() + float(getattr(self, "seconds", 1))
        yield self.step()

    def step(self):
        return scrapy.Request("data:,nothing", callback=self.wait, dont_filter=True)

    async def wait(self, response):
        from twisted.internet import reactor, task
        await maybe_deferred_to_future(task.deferLater(reactor, 0.2, lambda: None))
        if time.monotonic() < self.until:
            yield self.step()

    def closed(self, reason):
        from twisted.internet import reactor, task
        return task.deferLater(reactor, 1, pathlib.Path("closed-" + self._job).touch)
`;

/** A real scrapyd with one project and one spider. */
export class ScrapydProcess {
  private readonly dir = mkdtempSync(join(tmpdir(), 'evenhand-scrapyd-'));
  private child: ChildProcess | undefined;

  private constructor(private readonly port: number) {}

  static async start(): Promise<ScrapydProcess> {
    const daemon = new ScrapydProcess(await freePort());
    daemon.write();
    await daemon.run();
    return daemon;
  }

  get address(): string {
    return `http://${USER}@127.0.0.1:${this.port}`;
  }

  async ask<Body>(path: string): Promise<Body> {
    const headers = { authorization: `Basic ${Buffer.from(USER).toString('base64')}` };
    const response = await fetch(`http://127.0.0.1:${this.port}/${path}`, { headers });
    return (await response.json()) as Body;
  }

  /** Whether its spider has begun; whether it was closed, and not only killed. */
  has(what: 'begun' | 'closed', externalId: string): boolean {
    return existsSync(join(this.dir, `${what}-${externalId}`));
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.run();
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }

  private async kill(): Promise<void> {
    const { child } = this;
    if (!child?.pid || child.exitCode !== null) return;
    // The shell, the daemon and the spiders that it has started.
    process.kill(-child.pid, 'SIGKILL');
    await exited(child);
  }

  private async run(): Promise<void> {
    this.child = spawn('/bin/sh', ['-c', SCRAPYD_COMMAND ?? 'false'], {
      cwd: this.dir,
      stdio: 'ignore',
      detached: true,
    });
    killAtExit(this.child);
    const isUp = async () => (await this.ask<{ status: string }>('daemonstatus.json')).status === 'ok';
    await waitUntil(isUp, { what: 'scrapyd to be up', deadlineMs: 30_000 });
  }

  private write(): void {
    const [username, password] = USER.split(':');
    const settings = {
      bind_address: '127.0.0.1',
      http_port: this.port,
      username,
      password,
      poll_interval: 0.5,
      max_proc: 8,
    };
    const lines = Object.entries(settings).map(([key, value]) => `${key} = ${String(value)}`);
    writeFileSync(join(this.dir, 'scrapyd.conf'), `[scrapyd]\n${lines.join('\n')}\n`);
    writeFileSync(join(this.dir, 'scrapy.cfg'), '[settings]\ndefault = shop.settings\nshop = shop.settings\n');
    mkdirSync(join(this.dir, 'shop', 'spiders'), { recursive: true });
    writeFileSync(join(this.dir, 'shop', '__init__.py'), '');
    writeFileSync(join(this.dir, 'shop', 'settings.py'), 'SPIDER_MODULES = ["shop.spiders"]\n');
    writeFileSync(join(this.dir, 'shop', 'spiders', '__init__.py'), '');
    writeFileSync(join(this.dir, 'shop', 'spiders', 'crawl.py'), SPIDER);
  }
}
