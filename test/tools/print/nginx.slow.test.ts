// What only nginx does, with exactly the configuration that `vitrine print nginx` prints. The rest is in proxies.slow.test.ts.
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyPath, type Extension, MEDIA_TYPES, smallName } from '../../../src/records/copy-files.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture } from '../../support/files.ts';
import { startNginx, withoutProxy } from '../../support/fronts.ts';
import { type AskOptions, ask, type Reply } from '../../support/http.ts';
import { putCopy, SVG_WITH_SCRIPT } from '../../support/media-folder.ts';
import { startSite } from '../../support/mirror-site.ts';
import { type Server, startServer } from '../../support/server.ts';
import { until } from '../../support/stress.ts';

type Front = Pick<Server, 'port'>;
const withoutNginx = withoutProxy('nginx');

let database: string;
beforeAll(async () => {
  if (!withoutNginx) database = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
});

// With proxy_cache_lock the second request would wait for the first one, here for minutes.
const LOCK_TIMES = 'proxy_cache_lock_timeout 5m; proxy_cache_lock_age 5m;\n';
test.skipIf(withoutNginx)('two requests for a page reach the server at the same time', async () => {
  const waiting: ServerResponse[] = [];
  const { url } = await startSite((_request, response) => {
    waiting.push(response.setHeader('cache-control', 'no-cache'));
    if (waiting.length === 2) for (const each of waiting) each.end('page');
  });
  const front = await startNginx(Number(new URL(url).port), {}, LOCK_TIMES);
  const replies = Promise.all([ask(front, '/'), ask(front, '/')]);
  await until('both of them', () => waiting.length === 2);
  expect((await replies).map(({ body }) => body)).toEqual(['page', 'page']);
});

describe.skipIf(withoutNginx)('copies of pictures', () => {
  const settings = (env: Record<string, string>) => ({ DATABASE_URL: database, ...env });
  const folder = () => `${database}.media`;
  /** What nginx and Vitrine may differ in. */
  const OWN = [
    'date',
    'server',
    'etag',
    'last-modified',
    'connection',
    'keep-alive',
    'x-cache-status',
    'vary',
    'accept-ranges',
    'access-control-expose-headers',
  ];
  const comparable = ({ status, headers, body }: Reply) => ({
    status,
    body,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.includes(name))),
  });

  test.each([
    ['any origin', { CORS_ORIGIN: '*' }],
    ['some origins', { CORS_ORIGIN: 'https://one.example' }],
    ['no origin', { CORS_ORIGIN: 'none' }],
  ])('are answered as Vitrine does for %s, without asking it', async (_, env) => {
    const server = await startServer(settings(env));
    const front = await startNginx(server.port, settings(env));
    const names = (Object.keys(MEDIA_TYPES) as Extension[]).map((extension) =>
      putCopy(folder(), SVG_WITH_SCRIPT, extension),
    );
    const small = smallName(names[0] as string, 480);
    writeFileSync(join(folder(), copyPath(small)), 'small');
    const requests = [...names, small].flatMap((name) =>
      [{}, { method: 'HEAD' }, { headers: { range: 'bytes=2-5' } }].map(
        (options) => [`/media/${name}`, options] as const,
      ),
    );
    const origin = { origin: 'https://one.example' };
    const askBoth = (to: Front) =>
      Promise.all(
        requests.map(async ([path, { headers = {}, ...options }]: readonly [string, AskOptions]) =>
          comparable(await ask(to, path, { ...options, headers: { ...origin, ...headers } })),
        ),
      );
    const expected = await askBoth(server);
    await server.stop();
    expect(await askBoth(front)).toEqual(expected);
    const { headers } = await ask(front, `/media/${names[0]}`);
    const again = await ask(front, `/media/${names[0]}`, {
      headers: { 'if-none-match': String(headers.etag) },
    });
    expect([again.status, again.headers['cache-control']]).toEqual([304, headers['cache-control']]);
    expect(headers.vary === 'Origin').toBe(env.CORS_ORIGIN?.startsWith('https') ?? false);
  });

  test('errors, preflights and what nginx cannot read come from Vitrine', async () => {
    const server = await startServer(settings({}));
    const front = await startNginx(server.port, settings({}));
    const there = `/media/${putCopy(folder(), SVG_WITH_SCRIPT, 'svg')}`;
    const preflight = { origin: 'https://one.example', 'access-control-request-method': 'GET' };
    const requests: [string, AskOptions][] = [
      [`/media/${'ab'.repeat(32)}.svg`, {}],
      ['/media/x', {}],
      [there, { method: 'POST' }],
      [there, { method: 'OPTIONS', headers: preflight }],
    ];
    for (const [path, options] of requests)
      expect(comparable(await ask(front, path, options))).toEqual(
        comparable(await ask(server, path, options)),
      );
    const beyond = await ask(front, there, { headers: { range: 'bytes=9999-' } });
    expect([beyond.status, beyond.headers['access-control-allow-origin']]).toEqual([416, '*']);
    const blind = await startNginx(server.port);
    expect((await ask(blind, there)).body).toBe(SVG_WITH_SCRIPT);
  });
});
