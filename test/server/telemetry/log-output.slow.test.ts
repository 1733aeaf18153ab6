// The log's reader may be gone or stuck, and its disk full: the server goes on, and counts the lines that it drops.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, truncateSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { endWithTests } from '../../support/at-end.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture, PROGRAM, tempFile } from '../../support/files.ts';
import { freePort } from '../../support/free-port.ts';
import { ask } from '../../support/http.ts';
import { vitrine } from '../../support/run.ts';
import { SERVER_SETTINGS, type Server, startServer } from '../../support/server.ts';
import { adminOf, askMetrics, type LogLine, until } from '../../support/stress.ts';

const LOGGED_TEXT = 900;
/** Its line in the access log has about 1.2 KB. */
const LONG = `/a/api/?user=ada&${'x'.repeat(LOGGED_TEXT)}`;

/** Requests over a few connections; all must be answered. */
async function askOften(server: Pick<Server, 'port'>, requests: number, path = LONG): Promise<void> {
  for (let sent = 0; sent < requests; sent += 10) {
    const replies = await Promise.all(Array.from({ length: 10 }, () => ask(server, path)));
    expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
  }
}

async function droppedLines(admin: Pick<Server, 'port'>): Promise<number> {
  const { body } = await askMetrics(admin);
  return Number(/^vitrine_log_lines_dropped_total (\d+)$/m.exec(body)?.[1]);
}

/** The count once it has settled. Requests for it have no lines. */
async function settledDrops(admin: Pick<Server, 'port'>): Promise<number> {
  let [before, dropped] = [Number.NaN, await droppedLines(admin)];
  while (dropped !== before) [before, dropped] = [dropped, await droppedLines(admin)];
  return dropped;
}

describe('serve', () => {
  test('goes on when the reader of its log is gone', async () => {
    const server = await startServer({ ACCESS_LOG: 'on', ADMIN_PORT: '0' });
    const admin = adminOf(server);
    server.child.stdout?.destroy();
    await askOften(server, 50);
    await until('lines to be dropped', async () => (await droppedLines(admin)) >= 40);
    expect(await server.stop()).toBe(0);
  });

  test('logs again, and how many lines are missing, once the disk has room', async () => {
    const file = tempFile('log', '');
    const [server, admin] = [{ port: await freePort() }, { port: await freePort() }];
    const env = { PORT: String(server.port), ADMIN_PORT: String(admin.port), ACCESS_LOG: 'on' };
    // A limit of 64 KB for a file is its disk.
    const before = `trap '' XFSZ; ulimit -f 128; exec >> '${file}'`;
    const child = vitrine(['serve', '--samples'], { ...SERVER_SETTINGS, ...env }, { before });
    const ended = once(child, 'close');
    await until('the server', () => ask(server, '/healthz').then(Boolean, () => false));
    await askOften(server, 200);
    const dropped = await settledDrops(admin);
    expect(dropped).toBeGreaterThan(100);
    truncateSync(file);
    await askOften(server, 10, '/a/api/?user=ada');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expectEachLoggedOrCounted(parsed(readFileSync(file, 'utf8').split('\n')), dropped, dropped + 10);
  });

  test('holds a bounded number of lines while the reader is stuck', async () => {
    const server = await startServer({ ACCESS_LOG: 'on', ADMIN_PORT: '0' });
    const admin = adminOf(server);
    const output = server.child.stdout as Readable;
    const read: string[] = [];
    createInterface({ input: output }).on('line', (line) => read.push(line));
    output.pause();
    const requests = 2500;
    await askOften(server, requests);
    const dropped = await settledDrops(admin);
    // A megabyte waits here, and the pipe holds some more.
    expect(dropped).toBeGreaterThan(500);
    expect(dropped).toBeLessThan(2000);
    output.resume();
    await until('the count', () => parsed(read).some(isGap));
    await askOften(server, 10);
    expect(await server.stop()).toBe(0);
    expectEachLoggedOrCounted(parsed(read), dropped, requests + 10);
  });

  test('a stuck reader does not keep it, or its workers, from stopping', async () => {
    const server = await startServer({ ACCESS_LOG: 'on', WORKERS: '2' });
    (server.child.stdout as Readable).pause();
    await askOften(server, 1500);
    const exit = once(server.child, 'exit');
    server.child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    (server.child.stdout as Readable).destroy();
  });
});

const parsed = (lines: readonly string[]) =>
  lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LogLine);
const isGap = ({ msg }: LogLine) => msg === 'log lines were dropped';
const isRequest = ({ msg }: LogLine) => msg === 'request';

/** Each of these requests has a line in the log, or is counted in its only gap. */
function expectEachLoggedOrCounted(lines: readonly LogLine[], dropped: number, requests: number): void {
  const missing = requests - lines.filter(isRequest).length;
  expect(lines.filter(isGap)).toMatchObject([{ level: 50, lines: missing }]);
  expect(missing).toBe(dropped);
  expect(lines.at(-1)?.msg).toBe('stopped');
}

describe('other commands', () => {
  /** Runs a command whose standard output is connected by a shell, such as `> /dev/full`. */
  async function inShell(connection: string, ...args: string[]) {
    const shell = ['-o', 'pipefail', '-c', `"$0" "$@" ${connection}`];
    const child = endWithTests(spawn('bash', [...shell, process.execPath, PROGRAM, ...args]));
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const [code] = await once(child, 'close');
    return { code, stderr };
  }

  test('an import says that a disk is full', async () => {
    const args = ['import', '--database-url', await databaseOf(), fixture('portfolio.ndjson')];
    expect(await inShell('> /dev/full', ...args)).toEqual({
      code: 1,
      stderr: 'vitrine: cannot write to standard output: no space left on device\n',
    });
  });

  test('export ends without a word when its reader has enough', async () => {
    const database = await databaseOf(fixture('portfolio.ndjson'));
    expect(await inShell('| head -c 10 > /dev/null', 'export', '--database-url', database)).toEqual({
      code: 0,
      stderr: '',
    });
  });

  test('an import goes on when nobody reads its messages', async () => {
    const database = await databaseOf();
    const line = fixture('microblog.ndjson');
    const { code } = await inShell('2> >(exec true) | cat', 'import', '--database-url', database, line);
    expect(code).toBe(0);
  });
});
