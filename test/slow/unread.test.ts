// Clients that send and do not read, and thousands of busy connections: memory stays bounded and others are served.
import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { affordableConnections } from '../../src/edge/connection-limit.ts';
import { putCopy } from '../media-folder.ts';
import { ask, databaseOf, dial, fixture, type Server, startServer, tempFolder } from '../rig.ts';
import { startLoad, until } from '../stress.ts';

const MB = 2 ** 20;
const ADA = '/b/api/username/ada/shots';

const memoryOf = ({ child }: Server) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024;

const filesOf = ({ child }: Server) => readdirSync(`/proc/${child.pid}/fd`).length;

/** Answers some requests first, since a server that has just started grows with any load. */
async function warm(server: Server): Promise<void> {
  const load = startLoad(server, [ADA, '/openapi.json', '/docs'], () => undefined, 32);
  await until('some answers', () => load.answered() > 10_000, 60);
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

const flood = (line: string) => {
  const request = `${line} HTTP/1.1\r\nHost: x\r\n\r\n`;
  return request.repeat(Math.floor((64 * 1024) / request.length));
};

test.each([
  ['lists', `GET ${ADA}`, 96],
  ['documents', 'GET /openapi.json', 96],
  ['heads', `HEAD ${ADA}`, 96],
  ['errors', 'GET /nothing', 96],
  // A part is held for each; what the system took before leaves gaps in the memory.
  ['pictures', `GET /media/${PICTURE}`, 256],
])(
  '400 clients that ask for 64 KB of %s and read nothing take little memory, and are ended',
  async (_, line, limit) => {
    // What the system has taken counts as written, and then the connection is idle.
    const server = await startServer({ ...data, WRITE_TIMEOUT: '5s', KEEP_ALIVE_TIMEOUT: '5s' });
    await warm(server);
    const [memory, files] = [memoryOf(server), filesOf(server)];
    const sockets = await Promise.all(Array.from({ length: 400 }, () => dial(server)));
    const bytes = flood(line);
    for (const socket of sockets)
      socket
        .on('error', () => {})
        .pause()
        .write(bytes);
    let most = 0;
    // The clients do not notice the end, since they do not read.
    await until(
      'the end of all',
      async () => {
        expect((await ask(server, '/healthz')).status).toBe(200);
        most = Math.max(most, memoryOf(server) - memory);
        return filesOf(server) < files + 10;
      },
      120,
    );
    for (const socket of sockets) socket.destroy();
    expect(most).toBeLessThan(limit * MB);
  },
);

/** Fewer where the limit of open files leaves no room for more. */
const CONNECTIONS = affordableConnections({ maxConnections: 2100, workers: 1 }) - 100;

test(`a newcomer is answered beside ${CONNECTIONS} connections that always have a request out`, async () => {
  const server = await startServer();
  let going = true;
  let answers = 0;
  const sockets: Socket[] = [];
  for (let nth = 0; nth < CONNECTIONS; nth++) {
    const socket = await dial(server);
    sockets.push(socket);
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
  for (let turn = 0; turn < 20; turn++)
    expect((await ask(server, '/healthz', { headers: { connection: 'close' } })).status).toBe(200);
  await until('an answer for each', () => answers - before > CONNECTIONS, 60);
  going = false;
  for (const socket of sockets) socket.destroy();
});

/** The length of a response, of which this is the beginning. */
function lengthOf(chunk: Buffer): number {
  const end = chunk.indexOf('\r\n\r\n') + 4;
  return end + Number(/content-length: (\d+)/i.exec(chunk.toString('latin1', 0, end))?.[1]);
}
