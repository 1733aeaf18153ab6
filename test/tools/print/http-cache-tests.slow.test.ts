// The suite of cache-tests.fyi behind the nginx configuration of the proxy guide: the same results as those published for
// plain nginx, but for those that are listed here.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { tempFolder } from '../../support/files.ts';
import { startNginx, withoutProxy } from '../../support/fronts.ts';
import { startSite } from '../../support/mirror-site.ts';
import { npmInstall } from '../../support/npm.ts';

const MINUTE = 60_000;
// It brings a whole npm 6, which the checkout must not have: its program would take the place of npm.
const FOLDER = tempFolder();
const SUITE = join(FOLDER, 'node_modules/http-cache-tests');

type Handler = (path: string[], request: IncomingMessage, response: ServerResponse) => void;
type Results = Record<string, true | readonly [kind: string, message: string]>;
interface CacheTest {
  readonly id: string;
  /** Absent for what the RFC requires, "optimal" for what saves requests, "check" for what is only looked at. */
  readonly kind?: string;
  readonly browser_only?: boolean;
}
type Suites = readonly { readonly tests: readonly CacheTest[] }[];
interface Display {
  determineTestResult(
    suites: Suites,
    id: string,
    results: Results,
  ): readonly [string, string, symbol: string];
}

const load = async <T>(path: string) => (await import(join(SUITE, path))) as T;

/** The suite's origin, on the loopback interface only. */
async function startOrigin() {
  const handlers: Record<string, Handler> = {};
  for (const name of ['config', 'state', 'test'])
    handlers[name] = (await load<{ default: Handler }>(`server/handle-${name}.mjs`)).default;
  return startSite((request, response) => {
    const [, name = '', ...path] = new URL(request.url ?? '/', 'http://x').pathname.split('/');
    const handle = handlers[name];
    if (handle === undefined) response.writeHead(404).end();
    else handle(path, request, response);
  });
}

/** The result of each test, as the symbol that cache-tests.fyi shows. */
async function symbolsOf(results: Results): Promise<Map<string, { symbol: string; kind: string }>> {
  const { determineTestResult } = await load<Display>('lib/display.mjs');
  const { default: suites } = await load<{ default: Suites }>('tests/index.mjs');
  const tests = suites.flatMap((suite) => suite.tests).filter((each) => !each.browser_only);
  return new Map(
    tests.map(({ id, kind = 'required' }) => [
      id,
      { kind, symbol: determineTestResult(suites, id, results)[2] },
    ]),
  );
}

/** By which header a response varies is not asked: nginx unpacks one copy, and allowed origins are in its key. */
const VARYING = /\bvary-/;

/**
 * Nor is what expires in the second in which it was made: nginx holds that fresh to the end of this second, so the result says
 * only how fast the machine is.
 */
const BY_SECOND = 'freshness-expires-present';

/** What else differs from plain nginx, by the reason: test, its kind, the result published for nginx, and ours. */
const DIFFERENT = {
  'a server that is down is covered for, as the guide wants': [
    'stale-503 (check): N Y',
    'stale-close (check): N Y',
    'stale-warning-become (check): ⚪️ N',
    'stale-warning-stored (check): ⚪️ 🔹',
  ],
  'so it is where the origin forbids that; where CACHE_CONTROL does, other lines are printed': [
    'stale-close-must-revalidate (required): ⚪️ ⛔️',
    'stale-close-no-cache (required): ⚪️ ⛔️',
    'stale-close-proxy-revalidate (required): ⚪️ ⛔️',
    'stale-close-s-maxage=2 (required): ⚪️ ⛔️',
  ],
  'parameters that are not those of lookups are dropped': ['query-args-different (required): ✅ ⛔️'],
};

/** The line that is expected of a test, by its id. */
const EXPECTED = new Map(
  Object.values(DIFFERENT)
    .flat()
    .map((line) => [line.slice(0, line.indexOf(' ')), line]),
);

const RUNS = 3;

describe.skipIf(withoutProxy('nginx'))('http-cache-tests', () => {
  let origin: Awaited<ReturnType<typeof startOrigin>>;
  let published: Awaited<ReturnType<typeof symbolsOf>>;
  beforeAll(async () => {
    await npmInstall(FOLDER, 'http-cache-tests@0.4.5');
    origin = await startOrigin();
    published = await symbolsOf(JSON.parse(readFileSync(join(SUITE, 'results/nginx.json'), 'utf8')));
  });

  /** Runs all tests with an empty cache. Returns those with another result than expected, by their ids. */
  async function runSuite(): Promise<Map<string, string>> {
    const front = await startNginx(Number(new URL(origin.url).port));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--no-warnings', join(SUITE, 'cli.mjs')],
      {
        env: { npm_config_base: `http://127.0.0.1:${front.port}`, npm_package_config_id: '' },
        maxBuffer: 2 ** 24,
      },
    );
    const ours = await symbolsOf(JSON.parse(stdout));
    const isCompared = (id: string) => !VARYING.test(id) && id !== BY_SECOND;
    return new Map(
      [...published].flatMap(([id, { symbol: before, kind }]) => {
        const line = `${id} (${kind}): ${before} ${ours.get(id)?.symbol}`;
        const expected = EXPECTED.get(id) ?? `${id} (${kind}): ${before} ${before}`;
        return isCompared(id) && line !== expected ? [[id, line]] : [];
      }),
    );
  }

  // Freshness is measured in seconds. A machine that stands still for a second can change a result, but hardly the same one in
  // each run.
  test('results beside those of plain nginx', { timeout: 10 * MINUTE }, async () => {
    expect([...EXPECTED.keys()].filter((id) => !published.has(id))).toEqual([]);
    let wrong = await runSuite();
    for (let run = 1; run < RUNS && wrong.size > 0; run++) {
      const again = await runSuite();
      wrong = new Map([...again].filter(([id]) => wrong.has(id)));
    }
    expect([...wrong.values()]).toEqual([]);
  });
});
