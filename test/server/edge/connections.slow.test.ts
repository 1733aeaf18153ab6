// Connections: half closed by the client, never read from, or more than the server can take.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Reader } from '../../../src/stores/reader.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture, tempFolder } from '../../support/files.ts';
import { ask, dial, hearOut, parseReplies } from '../../support/http.ts';
import { putCopy } from '../../support/media-folder.ts';
import { serveLookups } from '../../support/serve-here.ts';
import { type Server, startServer } from '../../support/server.ts';
import { adminOf, linesOf, metricsOf, until } from '../../support/stress.ts';

const get = (url: string, more = '') => `GET ${url} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const LAST = 'Connection: close\r\n';
const ADA = '/a/api/?user=ada';

let server: Server;
beforeAll(async () => {
  server = await startServer({ ADMIN_PORT: '0' });
});

describe('a client that ends its side after its request gets the answer', () => {
  /** Sends a request and the end of the stream at once. */
  async function askAndEnd(at: Pick<Server, 'port'>, url: string): Promise<number[]> {
    const socket = await dial(at);
    const heard = hearOut(socket);
    socket.end(get(url));
    return parseReplies(await heard).map(({ status }) => status);
  }

  test.each(['/healthz', '/readyz', '/metrics'])('%s on the admin port', async (url) => {
    for (let turn = 0; turn < 5; turn++) expect(await askAndEnd(adminOf(server), url)).toEqual([200]);
  });

  test('after a slow lookup, and in order if it sent several', async () => {
    const profile: Reader['profile'] = (_family, name) =>
      new Promise((resolve) =>
        setTimeout(resolve, name === 'one' ? 60 : 20, { etag: `"${name}"`, body: Buffer.from(`"${name}"`) }),
      );
    const socket = await dial(await serveLookups({ profile }, { maxLoopDelay: '0' }));
    const heard = hearOut(socket);
    const names = ['one', ...Array.from({ length: 3 }, (_, nth) => `more${nth}`)];
    socket.end(names.map((name) => get(`/a/api/?user=${name}`)).join(''));
    expect(parseReplies(await heard).map(({ body }) => JSON.parse(body))).toEqual(names);
  });
});

describe('WRITE_TIMEOUT', () => {
  const media = join(tempFolder(), 'media');
  const SIZE = 32 * 2 ** 20;
  const PICTURE = `/media/${putCopy(media, Buffer.alloc(SIZE, 7), 'png')}`;
  let data: Record<string, string>;
  beforeAll(async () => {
    data = { DATABASE_URL: await databaseOf(fixture('microblog.ndjson')), MEDIA_DIR: media };
  });

  /** Opens connections that ask for much and read nothing. They go on to send, which starts a socket's own timer anew. */
  async function stuck(at: Server, count: number): Promise<Socket[]> {
    const sockets = await Promise.all(Array.from({ length: count }, () => dial(at)));
    for (const socket of sockets) {
      const sending = setInterval(() => socket.write('x'), 100);
      socket
        .on('error', () => {})
        .on('close', () => clearInterval(sending))
        .pause()
        .write(get(PICTURE));
    }
    return sockets;
  }

  test('spares a client that reads slowly', async () => {
    // The picture takes more than twice as long: 512 reads of at most 64 KB, each followed by a pause.
    const brief = await startServer({ ...data, WRITE_TIMEOUT: '5s' });
    const socket = await dial(brief);
    let read = 0;
    socket.on('data', (chunk) => {
      read += chunk.length;
      socket.pause();
      setTimeout(() => socket.resume(), 25);
    });
    socket.write(get(PICTURE, LAST));
    await once(socket, 'close');
    expect(read).toBeGreaterThan(SIZE);
  });

  test('a stop ends connections that wait', async () => {
    const stopping = await startServer({ ...data, WRITE_TIMEOUT: '0', SHUTDOWN_GRACE: '200ms' });
    await stuck(stopping, 3);
    await ask(stopping, ADA);
    expect(await stopping.stop()).toBe(0);
  });
});

describe('many connections', () => {
  test('hundreds that come while the server is busy are all kept waiting, not lost', async () => {
    const COUNT = 700;
    const most = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
    const busy = await startServer();
    busy.child.kill('SIGSTOP');
    // The system completes them, as long as there is room in the queue.
    const sockets = await Promise.all(Array.from({ length: Math.min(COUNT, most) }, () => dial(busy)));
    const heard = sockets.map(hearOut);
    for (const socket of sockets) socket.write(get('/healthz', LAST));
    busy.child.kill('SIGCONT');
    const statuses = (await Promise.all(heard)).map((bytes) => parseReplies(bytes)[0]?.status);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  test('those that were reset before they were accepted are not read', async () => {
    const busy = await startServer({ ADMIN_PORT: '0' });
    busy.child.kill('SIGSTOP');
    const sockets = await Promise.all(Array.from({ length: 100 }, () => dial(busy)));
    for (const socket of sockets) {
      socket.write(get('/c/api/username/ada').repeat(4));
      await once(socket.resetAndDestroy(), 'close');
    }
    busy.child.kill('SIGCONT');
    expect((await ask(busy, ADA)).status).toBe(200);
    const counted = [...(await metricsOf(busy)).keys()].filter((name) =>
      /_requests_total.*profile/.test(name),
    );
    expect(counted).toEqual(['vitrine_requests_total{variant="a",operation="profile",status="200"}']);
  });

  test('connections above the limit of open files are refused, counted, and logged once a second', async () => {
    const LIMIT = 160;
    const limited = await startServer({ ADMIN_PORT: '0' }, [], { before: `ulimit -n ${LIMIT}` });
    const sockets = await Promise.all(Array.from({ length: LIMIT }, () => dial(limited)));
    const open = new Set(sockets);
    // Each asks for something, so that the server keeps it although nothing follows.
    for (const socket of sockets)
      socket
        .on('error', () => {})
        .once('close', () => open.delete(socket))
        .resume()
        .write(get('/healthz'));
    // Connections may be refused until all have been accepted.
    const counted = await until('a count and lines for all', async () => {
      const refused = (await metricsOf(limited)).get('vitrine_connections_refused_total') ?? 0;
      const lines = linesOf(limited).filter(({ msg }) => /MAX_CONNECTIONS/.test(msg));
      const logged = lines.reduce((sum, { count }) => sum + Number(count), 0);
      return refused > 0 && refused === LIMIT - open.size && refused === logged && { refused, lines };
    });
    expect(counted.lines.length).toBeLessThan(counted.refused);
    for (const socket of open) socket.destroy();
    await until('an answer', () =>
      ask(limited, ADA).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    limited.child.kill();
  });
});
