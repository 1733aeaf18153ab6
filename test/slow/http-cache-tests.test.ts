// The suite of cache-tests.fyi behind the nginx configuration of the proxy guide: the same results as those published for
// plain nginx, but for stale responses, which the guide's configuration allows.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startNginx, withoutNginx } from '../nginx.ts';
import { ROOT } from '../rig.ts';

const MINUTE = 60_000;
const SUITE = join(ROOT, 'node_modules/http-cache-tests');

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
  const origin = createServer((request, response) => {
    const [, name = '', ...path] = new URL(request.url ?? '/', 'http://x').pathname.split('/');
    const handle = handlers[name];
    if (handle === undefined) response.writeHead(404).end();
    else handle(path, request, response);
  }).listen(0, '127.0.0.1');
  await once(origin, 'listening');
  return origin;
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

describe.skipIf(withoutNginx)('http-cache-tests', () => {
  let origin: Awaited<ReturnType<typeof startOrigin>>;
  let published: Awaited<ReturnType<typeof symbolsOf>>;
  beforeAll(async () => {
    origin = await startOrigin();
    published = await symbolsOf(JSON.parse(readFileSync(join(SUITE, 'results/nginx.json'), 'utf8')));
  });
  afterAll(() => origin?.close().closeAllConnections());

  // Freshness is measured in seconds, so a machine that stands still for a second can change a result.
  test('results beside those of plain nginx', { timeout: 2 * MINUTE, retry: 2 }, async () => {
    const front = await startNginx((origin.address() as AddressInfo).port);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--no-warnings', join(SUITE, 'cli.mjs')],
      {
        env: { npm_config_base: `http://127.0.0.1:${front.port}`, npm_package_config_id: '' },
        maxBuffer: 2 ** 24,
      },
    );
    const ours = await symbolsOf(JSON.parse(stdout));
    const different = [...ours].flatMap(([id, { symbol }]) => {
      const { symbol: before, kind } = published.get(id) as { symbol: string; kind: string };
      // Vary is not looked at: nginx keeps one compressed copy and unpacks it, and a list of origins is in its key.
      return symbol === before || id.startsWith('vary-') ? [] : [`${id} (${kind}): ${before} ${symbol}`];
    });
    // A server that is down is covered for, as the guide wants, even where the origin forbids it; Vitrine does not.
    // Its parameters are not those of lookups, so they are dropped; the other two need Vary.
    expect(different.sort()).toEqual([
      'conditional-etag-vary-headers (required): ✅ 🔹',
      'conditional-etag-vary-headers-mismatch (check): N ⚪️',
      'query-args-different (required): ✅ ⛔️',
      'stale-503 (check): N Y',
      'stale-close (check): N Y',
      'stale-close-must-revalidate (required): ⚪️ ⛔️',
      'stale-close-no-cache (required): ⚪️ ⛔️',
      'stale-close-proxy-revalidate (required): ⚪️ ⛔️',
      'stale-close-s-maxage=2 (required): ⚪️ ⛔️',
      'stale-warning-become (check): ⚪️ N',
      'stale-warning-stored (check): ⚪️ 🔹',
    ]);
    const passed = [...ours.values()].filter(({ symbol }) => symbol === '✅');
    expect(passed.length).toBeGreaterThan(124);
  });
});
