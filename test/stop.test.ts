// Graceful shutdown: requests in flight are answered, idle connections closed, and a second signal exits at once.
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ask, dial, hearOut, json, parseReplies, type Server, startServer } from './rig.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const HEAD = 'Host: x\r\n';

/** Waits until the server has logged this. */
async function logged(server: Server, msg: string): Promise<void> {
  const ended = server.ended.then((code) => {
    throw new Error(`it ended with ${code} before it said "${msg}":\n${server.log.join('\n')}`);
  });
  while (!server.log.some((line) => line.startsWith('{') && JSON.parse(line).msg === msg))
    await Promise.race([once(server.child.stdout as NodeJS.ReadableStream, 'data'), ended]);
  ended.catch(() => {});
}

describe.each(SIGNALS)('%s', (signal) => {
  test('stops an idle server with exit code 0 and logs it', async () => {
    const server = await startServer();
    server.child.kill(signal);
    expect(await server.ended).toBe(0);
    const messages = server.log.map((line) => JSON.parse(line).msg);
    expect(messages.filter((msg) => msg === 'stopping' || msg === 'stopped')).toEqual([
      'stopping',
      'stopped',
    ]);
  });

  test('closes idle connections, with or without an earlier request', async () => {
    const server = await startServer({
      SHUTDOWN_GRACE: '10m',
      KEEP_ALIVE_TIMEOUT: '5m',
      HEADERS_TIMEOUT: '5m',
      REQUEST_TIMEOUT: '5m',
    });
    const [idle, silent] = [await dial(server), await dial(server)];
    const heard = hearOut(idle);
    const nothing = hearOut(silent);
    idle.write(`GET /healthz HTTP/1.1\r\n${HEAD}\r\n`);
    await once(idle, 'data');
    server.child.kill(signal);
    expect(await server.ended).toBe(0);
    expect(parseReplies(await heard).map((reply) => reply.status)).toEqual([200]);
    expect((await nothing).length).toBe(0);
  });
});

describe('while draining', () => {
  test('readyz is 503, and each response closes its connection', async () => {
    const server = await startServer({ SHUTDOWN_DELAY: '3s' });
    const kept = await dial(server);
    kept.write(`GET /readyz HTTP/1.1\r\n${HEAD}\r\n`);
    await once(kept, 'data');
    server.child.kill('SIGTERM');
    await logged(server, 'stopping');
    const ready = await ask(server, '/readyz');
    expect([ready.status, json(ready)]).toEqual([503, { status: 'not ready' }]);
    expect(ready.headers['retry-after']).toMatch(/^\d+$/);
    expect((await ask(server, '/healthz')).status).toBe(200);
    for (const url of ['/a/api/?user=ada', '/b/api/username/ada/shots', '/a/api/?user=nobody']) {
      const reply = await ask(server, url);
      expect([reply.status, reply.headers.connection]).toEqual([url.endsWith('nobody') ? 404 : 200, 'close']);
    }
    const heard = hearOut(kept);
    kept.write(`GET /a/api/?user=ada HTTP/1.1\r\n${HEAD}\r\n`);
    expect(parseReplies(await heard).map((reply) => [reply.status, reply.headers.connection])).toEqual([
      [200, 'close'],
    ]);
    expect(await server.ended).toBe(0);
  });

  test('a request in flight is answered', async () => {
    const server = await startServer();
    const socket = await dial(server);
    const heard = hearOut(socket);
    socket.write(`GET /a/api/?user=ada HTTP/1.1\r\n${HEAD}`);
    // A response to a later client shows that the server has received those bytes.
    expect((await ask(server, '/healthz')).status).toBe(200);
    server.child.kill('SIGTERM');
    await logged(server, 'stopping');
    socket.write('\r\n');
    const replies = parseReplies(await heard);
    expect(replies.map((reply) => [reply.status, reply.headers.connection])).toEqual([[200, 'close']]);
    expect(await server.ended).toBe(0);
  });

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

  test('a second signal exits at once', async () => {
    const server = await startServer({ SHUTDOWN_DELAY: '1h' });
    server.child.kill('SIGTERM');
    await logged(server, 'stopping');
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(1);
  });

  test('so does a second signal of another kind', async () => {
    const server = await startServer({ SHUTDOWN_DELAY: '1h' });
    server.child.kill('SIGTERM');
    await logged(server, 'stopping');
    server.child.kill('SIGINT');
    expect(await server.ended).toBe(1);
  });
});

test('a port in use is reported', async () => {
  const first = await startServer();
  await expect(startServer({ PORT: String(first.port) })).rejects.toThrow(
    /ended with 1:\n(?:\{.*\}\n)?vitrine: the address is in use: [^\n]*\n$/,
  );
  expect((await ask(first, '/healthz')).status).toBe(200);
});
