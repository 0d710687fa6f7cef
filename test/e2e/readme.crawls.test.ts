import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CrawlServices } from '../support/crawl.services.js';
import { jobOf } from '../support/external.ids.js';
import { waitUntil } from '../support/wait.until.js';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const SECTION = /^## A crawler back end with at most N crawls\n([\s\S]*?)^## /m.exec(README)?.[1] ?? '';
const REQUEST = 'df8cf80227ec3237922df0ec';

let crawls: CrawlServices;

beforeEach(async () => {
  crawls = await CrawlServices.start();
  await crawls.addService();
  await crawls.addDaemon({ runMs: 'hold' });
});
afterEach(() => crawls.stop());

/** What the blocks of a language hold, in their order. */
function blocksOf(language: string): string[] {
  return [...SECTION.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    (match) => match[1] ?? '',
  );
}

/** Runs commands as they stand there, but for the ports. @returns what each of them printed */
function run(commands: string): string[] {
  const here = commands
    .replaceAll('http://127.0.0.1:3000', crawls.service.url)
    .replaceAll('http://127.0.0.1:6800', crawls.daemon.address)
    .replaceAll(/^curl /gm, 'curl --silent --show-error --fail-with-body --write-out "\\n---\\n" ');
  const printed = execFileSync('/bin/bash', ['-e', '-c', here], { encoding: 'utf8' });
  return printed.split('\n---\n').slice(0, -1);
}

test('the commands of "A crawler back end with at most N crawls" do what is said there', async () => {
  const [setUp = '', submit = '', look = ''] = blocksOf('sh');
  const [receipt = ''] = blocksOf('json');
  run(setUp);
  const [printed = ''] = run(submit);
  expect(JSON.parse(printed)).toEqual(JSON.parse(receipt));
  expect(JSON.parse(run(submit)[0] ?? '')).toEqual(JSON.parse(receipt));
  await waitUntil(() => crawls.daemon.runningIds.length === 2, { what: 'both jobs to run' });
  expect(crawls.daemon.scheduled.map(({ args }) => args)).toEqual([
    { url: 'https://example.com/a' },
    { url: 'https://example.com/b' },
  ]);
  const [request, job, queue, patched, cancelled] = run(look).map(
    (text) => JSON.parse(text) as Record<string, unknown>,
  );
  expect(request).toMatchObject({ id: REQUEST, requestId: 'order-7', owner: 'alice', total: 2 });
  expect(job).toMatchObject({ id: `${REQUEST}-0`, node: 'crawler-1' });
  expect(queue).toMatchObject({ name: 'crawls', limit: 4 });
  expect(patched).toMatchObject({ limit: 6 });
  expect(cancelled).toMatchObject({ id: `${REQUEST}-1` });
  await waitUntil(async () => (await crawls.job(`${REQUEST}-1`)).state === 'cancelled', { what: 'it to be cancelled' });
  expect(crawls.daemon.runningIds.map(jobOf)).toEqual([`${REQUEST}-0`]);
});
