// Clients that send and do not read, and thousands of busy connections: memory stays bounded and others are served.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { affordableConnections } from '../../../src/server/edge/http-server.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture, tempFolder } from '../../support/files.ts';
import { ask, dial } from '../../support/http.ts';
import { putCopy } from '../../support/media-folder.ts';
import { createMemoryGroup, type MemoryGroup, skipWithoutMemoryGroups } from '../../support/memory-group.ts';
import { type Server, startServer } from '../../support/server.ts';
import { linesOf, metricsOf, startLoad, until } from '../../support/stress.ts';

const MB = 2 ** 20;
const ADA = '/b/api/username/ada/shots';

const memoryOf = ({ child }: Server) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024;

const filesOf = ({ child }: Server) => readdirSync(`/proc/${child.pid}/fd`).length;

/** Answers some requests first, since a server that has just started grows with any load. */
async function warm(server: Server): Promise<void> {
  const load = startLoad(server, [ADA, '/openapi.json', '/docs'], () => undefined, 32);
  await until('some answers', () => load.answered() > 3000, 200);
  await load.stop();
}

/** A folder with one picture that fits into no buffer, for a database with the sample users. */
const media = join(tempFolder(), 'media');
const PICTURE = putCopy(media, Buffer.alloc(32 * MB, 7), 'png');
let data: Record<string, string>;
beforeAll(async () => {
  const database = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
  data = { DATABASE_URL: database, MEDIA_DIR: media };
});

/** 64 KB of pipelined requests. */
const flood = (line: string) => {
  const request = `${line} HTTP/1.1\r\nHost: x\r\n\r\n`;
  return request.repeat(Math.floor((64 * 1024) / request.length));
};

/** Clients that send these bytes in turn and read nothing, not even the end of the connection. */
async function dialDeaf(server: Server, count: number, requests: readonly string[]): Promise<Socket[]> {
  const sockets = await Promise.all(Array.from({ length: count }, () => dial(server)));
  for (const [nth, socket] of sockets.entries())
    socket
      .on('error', () => {})
      .pause()
      .write(requests[nth % requests.length] as string);
  return sockets;
}

/** Others are answered until the server has ended all connections that are not read. */
async function endOfAll(server: Server, files: number, look = () => {}): Promise<void> {
  const ended = async () => {
    // A new connection is accepted after all that came before it.
    expect((await ask(server, '/healthz', { headers: { connection: 'close' } })).status).toBe(200);
    look();
    return filesOf(server) < files + 10;
  };
  await until('the end of all', ended, 200);
}

/** How many connections the log says were ended because nothing was read from them. */
const stalledOf = (server: Server) =>
  linesOf(server)
    .filter(({ msg }) => msg.includes('WRITE_TIMEOUT'))
    .reduce((sum, { count }) => sum + Number(count), 0);

/** What the system has taken counts as written, and then the connection is idle. */
const IMPATIENT = { WRITE_TIMEOUT: '2s', KEEP_ALIVE_TIMEOUT: '2s' };

// They ask for lists, documents, heads or errors.
test('400 clients that read nothing take less than 96 MB, and are ended', async () => {
  const server = await startServer({ ...data, ...IMPATIENT });
  await warm(server);
  const [memory, files] = [memoryOf(server), filesOf(server)];
  const lines = [`GET ${ADA}`, 'GET /openapi.json', `HEAD ${ADA}`, 'GET /nothing'];
  const sockets = await dialDeaf(server, 400, lines.map(flood));
  let most = 0;
  await endOfAll(server, files, () => {
    most = Math.max(most, memoryOf(server) - memory);
  });
  for (const socket of sockets) socket.destroy();
  expect(most).toBeLessThan(96 * MB);
});

/** Fewer where the limit of open files leaves no room for more. */
const CONNECTIONS = affordableConnections({ maxConnections: 2100, workers: 1 }) - 100;
const DEAF = Math.min(1000, CONNECTIONS);
const BUSY = Math.min(600, CONNECTIONS);

describe(`${DEAF} clients that ask for a large picture and read nothing`, () => {
  /** Makes the server collect garbage at a signal, so that what is left is what it holds. */
  const COLLECTING = "--expose-gc --import=data:text/javascript,process.on('SIGUSR2',()=>gc())";

  const request = `GET /media/${PICTURE} HTTP/1.1\r\nHost: x\r\n\r\n`;

  test('take a part of 16 KB each, however many they ask for at once', async () => {
    const env = { ...data, WRITE_TIMEOUT: '0', ADMIN_PORT: '0', NODE_OPTIONS: COLLECTING };
    const server = await startServer(env);
    const held = async () => {
      server.child.kill('SIGUSR2');
      return (await metricsOf(server)).get('nodejs_external_memory_bytes') as number;
    };
    const before = await held();
    const sockets = await dialDeaf(server, DEAF, [request.repeat(8)]);
    const begun = sockets.map((socket) => once(socket, 'data').then(() => socket.pause()));
    for (const socket of sockets) socket.resume();
    await Promise.all(begun);
    // Each has another part ahead at times.
    await until('the garbage to be collected', async () => (await held()) - before < 40 * MB);
    for (const socket of sockets) socket.destroy();
  });

  test.skipIf(skipWithoutMemoryGroups())('leave a server with 128 MB alive, and are ended', async () => {
    const limited = createMemoryGroup(128 * MB) as MemoryGroup;
    const server = await limited.start(() => startServer({ ...data, ...IMPATIENT }));
    // The system's buffers take megabytes for each, and filling them takes this test's time.
    const count = Math.min(100, DEAF);
    try {
      const files = filesOf(server);
      const sockets = await dialDeaf(server, count, [request]);
      await endOfAll(server, files);
      await until('lines of the log about all of them', () => stalledOf(server) === count);
      for (const socket of sockets) socket.destroy();
      expect(await server.stop()).toBe(0);
    } finally {
      server.child.kill('SIGKILL');
      await server.ended;
      // The system frees what it had a little later.
      await until('the end of the group', () => limited.isEmpty());
      limited.remove();
    }
  });
});

test(`a newcomer is answered beside ${BUSY} connections that always have a request out`, async () => {
  const server = await startServer();
  let going = true;
  let answers = 0;
  const sockets = await Promise.all(Array.from({ length: BUSY }, () => dial(server)));
  for (const socket of sockets) {
    let due = 0;
    const next = () => going && socket.write(`GET ${ADA} HTTP/1.1\r\nHost: x\r\n\r\n`);
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        if (due === 0) due = lengthOf(chunk);
        due -= chunk.length;
        if (due > 0) return;
        answers++;
        next();
      });
    next();
  }
  const before = answers;
  for (let turn = 0; turn < 5; turn++)
    expect((await ask(server, '/healthz', { headers: { connection: 'close' } })).status).toBe(200);
  await until('an answer for each', () => answers - before > BUSY, 200);
  going = false;
  for (const socket of sockets) socket.destroy();
});

/** The length of a response, of which this is the beginning. */
function lengthOf(chunk: Buffer): number {
  const end = chunk.indexOf('\r\n\r\n') + 4;
  return end + Number(/content-length: (\d+)/i.exec(chunk.toString('latin1', 0, end))?.[1]);
}
