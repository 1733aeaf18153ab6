// HOST may be the path of a unix socket.
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { tempFile, tempFolder } from '../support/files.ts';
import { run } from '../support/run.ts';
import { startServer } from '../support/server.ts';
import { linesOf, until } from '../support/stress.ts';

const ADA = '/a/api/?user=ada';
const FILE = tempFile('notes.txt', '');

/** One line that names the address. */
const refusal = (address: string) =>
  expect.stringMatching(new RegExp(`^vitrine: [^\\n]*(?:cannot listen|E[A-Z]+)[^\\n]*${address}[^\\n]*\n$`));

function askThere(
  socketPath: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path, headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    })
      .on('error', reject)
      .end();
  });
}

describe.each(['1', '2'])('%s worker(s)', (workers) => {
  test('serve on a socket for owner and group, which is removed at the end', async () => {
    const path = join(tempFolder(), 'vitrine.sock');
    const server = await startServer({ HOST: path, WORKERS: workers });
    expect(server.url).toBe(`unix:${path}`);
    expect((statSync(path).mode & 0o777).toString(8)).toBe('660');
    expect(await Promise.all([ADA, '/nothing'].map((url) => askThere(path, url)))).toEqual([200, 404]);
    expect(await server.stop()).toBe(0);
    expect(existsSync(path)).toBe(false);
  });

  test('replace the file that a crashed server left behind', async () => {
    const path = join(tempFolder(), 'vitrine.sock');
    const crashed = await startServer({ HOST: path });
    crashed.child.kill('SIGKILL');
    await crashed.ended;
    expect(existsSync(path)).toBe(true);
    const server = await startServer({ HOST: path, WORKERS: workers });
    expect(await askThere(path, ADA)).toBe(200);
    await server.stop();
  });

  test('leave alone a socket on which another server listens, and any other file', async () => {
    const [busy, file] = [join(tempFolder(), 'busy.sock'), join(tempFolder(), 'notes.txt')];
    writeFileSync(file, 'mine');
    const other = createServer((socket) => socket.destroy()).listen(busy);
    for (const path of [busy, file]) {
      const { code, stderr } = await run(['serve', '--samples', '--host', path, '--workers', workers]);
      expect({ code, stderr }).toEqual({ code: 1, stderr: refusal(path) });
      expect(existsSync(path)).toBe(true);
    }
    await new Promise((resolve) => other.close(resolve));
  });
});

test.each<[what: string, host: string]>([
  // Node says so of a folder that does not exist, too.
  ['a missing folder', '/nowhere/a.sock'],
  ['a file for a folder', `${FILE}/a.sock`],
  ['an address of another machine', '192.0.2.1'],
  ['an unknown name', 'no-such-host.invalid'],
])('%s as HOST is refused with a sentence', async (_, host) => {
  const { code, stderr } = await run(['serve', '--samples', '--host', host, '--port', '0']);
  expect({ code, stderr }).toEqual({ code: 1, stderr: refusal(host) });
});

test('clients of a unix socket count as local: with TRUST_PROXY=loopback their headers are believed', async () => {
  const path = join(tempFolder(), 'vitrine.sock');
  for (const [trust, client] of [
    ['', '127.0.0.1'],
    ['loopback', '203.0.113.9'],
  ] as const) {
    const server = await startServer({ HOST: path, ACCESS_LOG: 'on', TRUST_PROXY: trust });
    await askThere(path, ADA, { 'x-forwarded-for': '203.0.113.9' });
    const line = await until('its log line', () => linesOf(server).find(({ msg }) => msg === 'request'));
    expect(line.client).toBe(client);
    await server.stop();
  }
});
