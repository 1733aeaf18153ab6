// An outage is logged once a cause and second, with counts that add up to the requests that failed or were slow.
import { truncateSync } from 'node:fs';
import { IncomingMessage, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import Fastify from 'fastify';
import { describe, expect, test, vi } from 'vitest';
import { createAnswerWriter } from '../../../src/api/http/answer.ts';
import { type Observation, OTHER } from '../../../src/api/http/observations.ts';
import { readConfig } from '../../../src/config/config.ts';
import { createLog } from '../../../src/server/telemetry/log.ts';
import { METRICS } from '../../../src/server/telemetry/metric-table.ts';
import { createTelemetry } from '../../../src/server/telemetry/telemetry.ts';
import { StoreError } from '../../../src/stores/errors.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture } from '../../support/files.ts';
import { ask } from '../../support/http.ts';
import { executeSql } from '../../support/importing.ts';
import { serveHere } from '../../support/serve-here.ts';
import { adminOf, type LogLine, linesOf } from '../../support/stress.ts';

interface FaultLine extends LogLine {
  readonly err: { readonly type: string; readonly message: string; readonly stack?: string };
  readonly count: number;
  readonly url?: string;
}

const total = (lines: readonly FaultLine[]) => lines.reduce((sum, { count }) => sum + count, 0);

/** What is logged of these faults and slow requests. */
function logged(...events: Observation[]): FaultLine[] {
  const lines: FaultLine[] = [];
  const log = createLog({ logLevel: 'info' }, { write: (line) => lines.push(JSON.parse(line)) });
  const telemetry = createTelemetry(readConfig({ slowRequest: '1ms' }), log);
  for (const event of events) telemetry.observe(event);
  telemetry.stop();
  return lines;
}

const requestTo = (url: string, arrived?: number) =>
  Object.assign(new IncomingMessage(new Socket()), { url, arrived });
const failed = (...errors: unknown[]) =>
  logged(
    ...errors.map((error, nr) => ({ type: 'request-failed', request: requestTo(`/${nr}`), error }) as const),
  );

describe('one cause', () => {
  test('gives one line with its request, and one with the count of the others', () => {
    const lines = failed(...Array.from({ length: 1000 }, () => new StoreError('The database is away.')));
    const err = { type: 'StoreError', message: 'The database is away.' };
    expect(lines).toMatchObject([
      { level: 50, msg: 'request failed', url: '/0', count: 1, err },
      { level: 50, msg: 'request failed', count: 999, err },
    ]);
    expect(lines.filter(({ err }) => err.stack !== undefined)).toEqual([]);
  });

  test('that is no fault of the data is logged with its stack, once', () => {
    const lines = failed(new TypeError('x is undefined'), new TypeError('x is undefined'), 'odd');
    expect(lines.map(({ err, count }) => [err.message, err.stack !== undefined, count])).toEqual([
      ['x is undefined', true, 1],
      ['odd', false, 1],
      ['x is undefined', false, 1],
    ]);
  });
});

test('requests that are refused by overload are logged as failed, with how long the first had waited', () => {
  const refused = (ms: number) => ({ type: 'request-refused', reason: 'overload', ms }) as const;
  const lines = logged(refused(700), refused(900), { type: 'request-refused', reason: 'rate' }, refused(800));
  const err = { type: 'Overloaded', message: 'the request had waited longer than MAX_LOOP_DELAY' };
  expect(lines).toMatchObject([
    { level: 40, msg: 'request failed', count: 1, ms: 700, err },
    { level: 40, msg: 'request failed', count: 2, err },
  ]);
});

test('the log has what alerts say to look for', () => {
  const commands = new Map(METRICS.flatMap(({ alert }) => (alert ? [[alert.name, alert] as const] : [])));
  const failedLine = JSON.stringify(failed(new Error('x'))[0]);
  const slowLine = JSON.stringify(
    logged({ type: 'response', request: requestTo('/', 0), operation: OTHER, status: 200, bytes: 0 })[0],
  );
  for (const [name, line] of [
    ['VitrineErrors', failedLine],
    ['VitrineSlow', slowLine],
  ] as const)
    expect(line).toContain(/^grep '(.*)' in the log$/.exec(commands.get(name)?.command ?? '')?.[1]);
  // What rings as slow is logged as slow.
  const bound = Number(/> ([\d.]+)$/.exec(commands.get('VitrineSlow')?.expr ?? '')?.[1]);
  expect(readConfig({}).slowRequest).toBe(bound * 1000);
});

test('several causes have a line each, up to a limit', () => {
  const lines = failed(...Array.from({ length: 500 }, (_, nr) => new Error(`user ${nr} is broken`)));
  expect(lines.length).toBeLessThan(30);
  expect(total(lines)).toBe(500);
  expect(lines.at(-1)).toMatchObject({ err: { message: 'other errors' }, count: 480 });
});

test('after more causes than the limit, one that comes when they are over is named', () => {
  vi.useFakeTimers();
  try {
    const lines: FaultLine[] = [];
    const log = createLog({ logLevel: 'info' }, { write: (line) => lines.push(JSON.parse(line)) });
    const telemetry = createTelemetry(readConfig({}), log);
    const fail = (message: string) =>
      telemetry.observe({ type: 'request-failed', request: requestTo('/'), error: new Error(message) });
    for (let nr = 0; nr < 21; nr++) fail(`user ${nr} is broken`);
    expect(lines.map(({ err }) => err.message)).not.toContain('user 20 is broken');
    // In the first period they are counted, and in the second one none comes.
    vi.advanceTimersByTime(10_000);
    fail('another user is broken');
    expect(lines.at(-1)).toMatchObject({ err: { message: 'another user is broken' }, count: 1 });
    telemetry.stop();
  } finally {
    vi.useRealTimers();
  }
});

test('slow requests are logged once for each kind, and then counted', () => {
  const operation = { variant: 'a', name: 'items' } as const;
  const slow = (url: string, status: number) =>
    ({ type: 'response', request: requestTo(url, 0), operation, status, bytes: 0 }) as const;
  const many = Array.from({ length: 500 }, (_, nr) => slow(`/${nr}`, 200));
  expect(logged(...many, slow('/x', 503))).toMatchObject([
    {
      level: 40,
      msg: 'slow request',
      url: '/0',
      ms: expect.any(Number),
      ...operation,
      status: 200,
      count: 1,
    },
    { ...operation, status: 503, count: 1 },
    { level: 40, msg: 'slow request', ...operation, status: 200, count: 499 },
  ]);
});

test('a server with unreadable data logs two lines a second at most', async () => {
  const path = await databaseOf(fixture('microblog.ndjson'));
  const server = await serveHere({ DATABASE_URL: path });
  truncateSync(path, 0);
  const began = performance.now();
  const replies = [];
  for (let sent = 0; sent < 1000; sent += 50)
    replies.push(...(await Promise.all(Array.from({ length: 50 }, () => ask(server, '/a/api/?user=ada')))));
  expect(await server.stop()).toBe(0);
  const seconds = (performance.now() - began) / 1000;
  const failed = replies.filter(({ status }) => status === 503);
  expect(failed.length).toBeGreaterThan(900);
  const lines = linesOf(server).filter(({ msg }) => msg === 'request failed') as FaultLine[];
  expect(total(lines)).toBe(failed.length);
  expect(lines.length).toBeLessThanOrEqual(2 * (seconds + 1));
  expect(lines[0]).toMatchObject({ url: '/a/api/?user=ada', id: failed[0]?.headers['x-request-id'] });
});

test('the access log has no line of a probe or a scrape', async () => {
  const server = await serveHere({ ACCESS_LOG: 'on', ADMIN_PORT: '0' });
  for (const path of ['/metrics', '/readyz', '/nothing']) await ask(adminOf(server), path);
  for (const path of ['/readyz', '/healthz', '/a/api/?user=ada']) await ask(server, path);
  const requests = linesOf(server).filter(({ msg }) => msg === 'request');
  expect(requests.map(({ url }) => url)).toEqual(['/a/api/?user=ada']);
});

describe('an answer that cannot be written', () => {
  test('is counted and logged once, with the status that the client got', async () => {
    const path = await databaseOf(fixture('microblog.ndjson'));
    executeSql(path, `UPDATE profiles SET etag = '"a' || char(10) || 'b"' WHERE user_key = 'ada'`);
    const server = await serveHere({ DATABASE_URL: path, ACCESS_LOG: 'on' });
    const urls = ['/people/a/ada', '/feeds/a/ada.json', '/card/a/ada.svg', '/a/api/?user=ada', '/nothing'];
    const statuses = [];
    for (const url of urls) statuses.push((await ask(server, url, { method: 'HEAD' })).status);
    expect(
      linesOf(server).flatMap(({ msg, status, bytes }) => (msg === 'request' ? [[status, bytes]] : [])),
    ).toEqual(statuses.map((status) => [status, 0]));
    expect(statuses).toContain(500);
    expect(linesOf(server).filter(({ msg }) => msg === 'request failed')).toHaveLength(1);
    expect((await ask(server, '/a/api/?user=ada&post=true')).status).toBe(200);
  });

  // It is written at the end of the turn, when no caller can catch what is thrown.
  test.each<[string, (response: ServerResponse) => unknown]>([
    ['its response was destroyed', (response) => response.destroy()],
    ['its connection was reset', ({ socket }) => socket?.resetAndDestroy()],
    ['its connection was ended', ({ socket }) => socket?.end()],
  ])('since %s meanwhile is counted, and others are answered', async (_, spoil) => {
    const seen: string[] = [];
    const sendAnswer = createAnswerWriter(readConfig(), ({ type }) => void seen.push(type));
    const operation = { variant: 'a', name: 'profile' } as const;
    const app = Fastify();
    app.get('/*', (request, reply) => {
      sendAnswer(reply, operation, { etag: '"x"', body: Buffer.from('{}') }, undefined);
      if (request.url === '/spoilt') spoil(reply.raw);
    });
    const url = await app.listen({ port: 0 });
    await expect(fetch(`${url}/spoilt`)).rejects.toThrow();
    expect(await (await fetch(url)).text()).toBe('{}');
    expect(seen).toEqual(['response', 'response']);
    app.server.closeAllConnections();
    await app.close();
  });
});
