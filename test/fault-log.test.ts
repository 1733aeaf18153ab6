// An outage is logged once a cause and second, with counts that add up to the requests that failed or were slow.
import { once } from 'node:events';
import { truncateSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import { createAnswerWriter } from '../src/http/answer.ts';
import { StoreError } from '../src/stores/errors.ts';
import { createBundledLog } from '../src/telemetry/bundled-log.ts';
import { createLog } from '../src/telemetry/log.ts';
import { ask, databaseOf, fixture } from './rig.ts';
import { serveHere } from './serve-here.ts';
import { type LogLine, linesOf } from './stress.ts';

interface FaultLine extends LogLine {
  readonly err: { readonly type: string; readonly message: string; readonly stack?: string };
  readonly count: number;
  readonly url?: string;
}

const total = (lines: readonly FaultLine[]) => lines.reduce((sum, { count }) => sum + count, 0);

/** Logs these errors, then stops; what was logged. */
function logFaults(...errors: unknown[]): FaultLine[] {
  const lines: FaultLine[] = [];
  const log = createLog({ logLevel: 'info' }, { write: (line) => lines.push(JSON.parse(line)) });
  const bundles = createBundledLog(log);
  errors.forEach((error, nr) => {
    bundles.addFailure(error, { url: `/${nr}` });
  });
  bundles.stop();
  return lines;
}

describe('one cause', () => {
  test('gives one line with its request, and one with the count of the others', () => {
    const lines = logFaults(...Array.from({ length: 1000 }, () => new StoreError('The database is away.')));
    const err = { type: 'StoreError', message: 'The database is away.' };
    expect(lines).toMatchObject([
      { level: 50, msg: 'request failed', url: '/0', count: 1, err },
      { level: 50, msg: 'request failed', count: 999, err },
    ]);
    expect(lines.filter(({ err }) => err.stack !== undefined)).toEqual([]);
  });

  test('that is no fault of the data is logged with its stack, once', () => {
    const lines = logFaults(new TypeError('x is undefined'), new TypeError('x is undefined'), 'odd');
    expect(lines.map(({ err, count }) => [err.message, err.stack !== undefined, count])).toEqual([
      ['x is undefined', true, 1],
      ['odd', false, 1],
      ['x is undefined', false, 1],
    ]);
  });
});

test('several causes have a line each, up to a limit', () => {
  const lines = logFaults(...Array.from({ length: 500 }, (_, nr) => new Error(`user ${nr} is broken`)));
  expect(lines.length).toBeLessThan(30);
  expect(total(lines)).toBe(500);
  expect(lines.at(-1)).toMatchObject({ err: { message: 'other errors' }, count: 480 });
});

test('slow requests have a line with the first of each kind, and one with the count of the others', () => {
  const lines: LogLine[] = [];
  const log = createLog({ logLevel: 'info' }, { write: (line) => lines.push(JSON.parse(line)) });
  const bundles = createBundledLog(log);
  const request = { variant: 'a', name: 'items', status: 200 } as const;
  for (let nr = 0; nr < 500; nr++) bundles.addSlow({ ...request, ...{ url: `/${nr}`, ms: 1000 + nr } });
  bundles.addSlow({ ...request, status: 503 });
  bundles.stop();
  expect(lines).toMatchObject([
    { level: 40, msg: 'slow request', url: '/0', ms: 1000, ...request, count: 1 },
    { ...request, status: 503, count: 1 },
    { level: 40, msg: 'slow request', ...request, count: 499 },
  ]);
});

test('a server whose data cannot be read logs a handful of lines for a thousand requests', async () => {
  const path = await databaseOf(fixture('microblog.ndjson'));
  const server = await serveHere({ DATABASE_URL: path, SLOW_REQUEST: '0' });
  truncateSync(path, 0);
  const replies = [];
  for (let sent = 0; sent < 1000; sent += 50)
    replies.push(...(await Promise.all(Array.from({ length: 50 }, () => ask(server, '/a/api/?user=ada')))));
  expect(await server.stop()).toBe(0);
  const failed = replies.filter(({ status }) => status === 503);
  expect(failed.length).toBeGreaterThan(900);
  const lines = linesOf(server).filter(({ msg }) => msg === 'request failed') as FaultLine[];
  expect(total(lines)).toBe(failed.length);
  expect(lines.length).toBeLessThan(30);
  expect(lines[0]).toMatchObject({ url: '/a/api/?user=ada', id: failed[0]?.headers['x-request-id'] });
});

describe('an answer that cannot be written', () => {
  test('is a fault that is logged when its ETag is damaged: no request hangs', async () => {
    const path = await databaseOf(fixture('microblog.ndjson'));
    const db = new Database(path);
    db.exec(`UPDATE profiles SET etag = '"a' || char(10) || 'b"' WHERE user_key = 'ada'`);
    db.close();
    const server = await serveHere({ DATABASE_URL: path });
    expect((await ask(server, '/a/api/?user=ada')).status).toBe(500);
    expect((await ask(server, '/a/api/?user=ada&post=true')).status).toBe(200);
    expect(linesOf(server).filter(({ msg }) => msg === 'request failed')).toHaveLength(1);
  });

  // It is written at the end of the turn, when nobody can catch what is thrown.
  test.each<[string, (response: ServerResponse) => unknown]>([
    ['its response was destroyed', (response) => response.destroy()],
    ['its connection was reset', ({ socket }) => socket?.resetAndDestroy()],
    ['its connection was ended', ({ socket }) => socket?.end()],
  ])('since %s meanwhile is counted, and others are answered', async (_, spoil) => {
    const seen: string[] = [];
    const write = createAnswerWriter(readConfig(), ({ type }) => void seen.push(type));
    const operation = { variant: 'a', name: 'profile' } as const;
    const server = createServer((request, response) => {
      write(request, response, operation, { etag: '"x"', body: Buffer.from('{}') }, undefined);
      if (request.url === '/spoilt') spoil(response);
    }).listen(0);
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(fetch(`${url}/spoilt`)).rejects.toThrow();
    expect(await (await fetch(url)).text()).toBe('{}');
    expect(seen).toEqual(['response', 'response']);
    server.close().closeAllConnections();
  });
});
