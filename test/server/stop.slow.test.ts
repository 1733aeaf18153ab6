// Graceful shutdown: requests in flight are answered, idle connections closed, and a second signal exits at once.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { endWithTests } from '../support/at-end.ts';
import { ROOT, tempFolder } from '../support/files.ts';
import { freePort } from '../support/free-port.ts';
import { ask, dial, hearOut, json, parseReplies } from '../support/http.ts';
import { run, vitrine } from '../support/run.ts';
import { KEEPS_SILENT, startServer } from '../support/server.ts';
import { adminOf, isRefused, logged, until } from '../support/stress.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const HEAD = 'Host: x\r\n';

describe.concurrent.each(SIGNALS)('%s', (signal) => {
  test('closes idle connections, used or not, logs the stop, and exits with 0', async () => {
    const server = await startServer({
      ADMIN_PORT: '0',
      SHUTDOWN_GRACE: '10m',
      KEEP_ALIVE_TIMEOUT: '5m',
      REQUEST_TIMEOUT: '5m',
    });
    const idle = await dial(server);
    const silent = [await dial(server), await dial(adminOf(server))].map(hearOut);
    const heard = hearOut(idle);
    idle.write(`GET /healthz HTTP/1.1\r\n${HEAD}\r\n`);
    await once(idle, 'data');
    server.child.kill(signal);
    expect(await server.ended).toBe(0);
    expect(parseReplies(await heard).map((reply) => reply.status)).toEqual([200]);
    expect(Buffer.concat(await Promise.all(silent)).length).toBe(0);
    const messages = server.log.map((line) => JSON.parse(line).msg);
    expect(messages.slice(-2)).toEqual(['stopping', 'stopped']);
  });
});

test('SIGHUP and SIGUSR1 are logged and change nothing: no end, and no debugger', async () => {
  const server = await startServer({});
  for (const signal of ['SIGHUP', 'SIGUSR1'] as const) {
    server.child.kill(signal);
    await logged(server, new RegExp(`^${signal} is ignored: stop the server with SIGTERM$`));
  }
  expect((await ask(server, '/healthz')).status).toBe(200);
  expect(server.log.filter((line) => /debugger/i.test(line))).toEqual([]);
  expect(await server.stop()).toBe(0);
});

describe.concurrent('while draining', () => {
  test('readyz is 503, and each response closes its connection', async () => {
    const server = await startServer({ SHUTDOWN_DELAY: '1h' });
    const kept = await dial(server);
    kept.write(`GET /readyz HTTP/1.1\r\n${HEAD}\r\n`);
    await once(kept, 'data');
    server.child.kill('SIGTERM');
    await logged(server, /^stopping$/);
    const ready = await ask(server, '/readyz');
    expect([ready.status, json(ready)]).toEqual([503, { status: 'not ready' }]);
    expect(ready.headers['retry-after']).toMatch(/^\d+$/);
    expect((await ask(server, '/healthz')).status).toBe(200);
    for (const url of ['/a/api/?user=ada', '/b/api/username/ada/shots', '/a/api/?user=nobody']) {
      const reply = await ask(server, url);
      expect({ status: reply.status, connection: reply.headers.connection }).toEqual({
        status: url.endsWith('nobody') ? 404 : 200,
        connection: 'close',
      });
    }
    const heard = hearOut(kept);
    kept.write(`GET /a/api/?user=ada HTTP/1.1\r\n${HEAD}\r\n`);
    expect(parseReplies(await heard).map((reply) => [reply.status, reply.headers.connection])).toEqual([
      [200, 'close'],
    ]);
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(1);
  });

  test('a request in flight is answered', async () => {
    const server = await startServer({ SHUTDOWN_GRACE: '1m' });
    const socket = await dial(server);
    const heard = hearOut(socket);
    socket.write(`GET /a/api/?user=ada HTTP/1.1\r\n${HEAD}`);
    // A response to a later client shows that the server has received those bytes.
    expect((await ask(server, '/healthz')).status).toBe(200);
    server.child.kill('SIGTERM');
    await logged(server, /^stopping$/);
    socket.write('\r\n');
    const replies = parseReplies(await heard);
    expect(replies.map((reply) => [reply.status, reply.headers.connection])).toEqual([[200, 'close']]);
    expect(await server.ended).toBe(0);
  });

  // The client has its response, and its next request is on the way: closing the connection would lose it.
  test.each(['1', '2'])(
    'a kept connection has its next request answered, with %s worker(s)',
    async (workers) => {
      const server = await startServer({ ...KEEPS_SILENT, WORKERS: workers });
      const kept = await Promise.all(Array.from({ length: 20 }, () => dial(server)));
      for (const socket of kept) {
        socket.write(`GET /a/api/?user=ada HTTP/1.1\r\n${HEAD}\r\n`);
        await once(socket, 'data');
      }
      const heard = kept.map(hearOut);
      server.child.kill('SIGTERM');
      await until('the port to be closed', () => isRefused(server));
      for (const socket of kept) socket.write(`GET /a/api/?user=ada HTTP/1.1\r\n${HEAD}\r\n`);
      for (const bytes of await Promise.all(heard))
        expect(parseReplies(bytes).map((reply) => [reply.status, reply.headers.connection])).toEqual([
          [200, 'close'],
        ]);
      expect(await server.ended).toBe(0);
    },
  );

  test('an unfinished request is cut off after the grace period', async () => {
    const server = await startServer({ SHUTDOWN_GRACE: '1s' });
    const socket = await dial(server);
    const heard = hearOut(socket);
    socket.write(`GET /a/api/?user=ada HTTP/1.1\r\n${HEAD}`);
    expect((await ask(server, '/healthz')).status).toBe(200);
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    for (const reply of parseReplies(await heard)) expect(reply.status).toBeGreaterThanOrEqual(400);
  });

  test.each(SIGNALS)('a second signal, %s, exits at once', async (signal) => {
    const server = await startServer({ SHUTDOWN_DELAY: '1h' });
    server.child.kill('SIGTERM');
    await logged(server, /^stopping$/);
    server.child.kill(signal);
    expect(await server.ended).toBe(1);
  });
});

// The system has accepted them, and the server has not: they were lost when it closed its port, or when accepting
// them took longer than a silent connection may stay.
test('while draining, connections that wait for the server are answered', async () => {
  // In half of the grace time, a busy machine does not accept as many.
  const server = await startServer({ SHUTDOWN_GRACE: '5m' });
  server.child.kill('SIGSTOP');
  const waiting = await Promise.all(Array.from({ length: 800 }, () => dial(server)));
  const heard = waiting.map(hearOut);
  for (const socket of waiting) socket.write(`GET /people/b/ada HTTP/1.1\r\n${HEAD}\r\n`);
  for (const signal of ['SIGTERM', 'SIGCONT'] as const) server.child.kill(signal);
  for (const bytes of await Promise.all(heard))
    expect(parseReplies(bytes).map((reply) => reply.status)).toEqual([200]);
  expect(await server.ended).toBe(0);
});

describe('a stop during the start', () => {
  const childrenOf = (pid: number) =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).length;
  const withWorkers = (count: number) => (pid: number) =>
    until(`${count} workers`, () => childrenOf(pid) >= count);

  /** Sends these signals to a server of two workers at a moment of its start; how it ended, and its messages. */
  async function stopAt(moment: (pid: number) => Promise<unknown>, ...signals: NodeJS.Signals[]) {
    const child = vitrine(['serve', '--samples'], { PORT: '0', ADMIN_PORT: '0', WORKERS: '2' });
    child.stdout?.resume();
    // All processes share standard error, so it closes with the last one.
    const said = text(child.stderr as Readable);
    const closed = once(child, 'close');
    await moment(child.pid as number);
    for (const signal of signals) child.kill(signal);
    return [...(await closed), await said];
  }

  test.each([
    ['at once', async () => {}],
    ['after 200 ms', () => delay(200)],
    ['with the first worker', withWorkers(1)],
    ['with the second worker', withWorkers(2)],
  ])('%s ends every process without a word', async (_, moment) => {
    const ended = await stopAt(moment, 'SIGTERM');
    // Before the program is loaded, the signal ends it the way it ends any program.
    expect(ended).toEqual(ended[0] === null ? [null, 'SIGTERM', ''] : [0, null, '']);
  });

  test('by two signals does so, too', async () => {
    // It goes on when it has both: otherwise the first one may have stopped it.
    const ended = await stopAt(withWorkers(1), 'SIGSTOP', 'SIGTERM', 'SIGINT', 'SIGCONT');
    expect(ended).toEqual([1, null, '']);
  });
});

describe('a port in use', () => {
  test.each([
    ['1', '2'],
    ['2', '1'],
  ])('by %s worker(s) is refused to %s', async (first, second) => {
    const server = await startServer({ WORKERS: first, PORT: String(await freePort()), ADMIN_PORT: '0' });
    const admin = adminOf(server);
    for (const flags of [
      ['--port', String(server.port)],
      ['--admin-port', String(admin.port)],
    ]) {
      const env = { PORT: '0', WORKERS: second };
      const { code, stderr } = await run(['serve', '--samples', ...flags], { env });
      expect(code).toBe(1);
      expect(stderr).toMatch(new RegExp(`^vitrine: cannot listen: address already in use .*:${flags[1]}; `));
    }
    expect((await ask(server, '/healthz')).status).toBe(200);
    expect(await server.stop()).toBe(0);
  });
});

test('npm start passes a signal on', async () => {
  const port = await freePort();
  const child = endWithTests(
    spawn('npm', ['start'], {
      cwd: ROOT,
      env: { PATH: process.env.PATH ?? '', HOME: tempFolder(), PORT: String(port) },
    }),
  );
  const healthy = () => ask({ port }, '/healthz').then(Boolean, () => false);
  await until('the server', healthy);
  child.kill('SIGTERM');
  expect((await once(child, 'close'))[0]).toBe(0);
  expect(await healthy()).toBe(false);
});
