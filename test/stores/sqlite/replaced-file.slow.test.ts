// The served database file is replaced, deleted, moved with its WAL, damaged in place, or not the server's own.
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { databaseOf } from '../../support/database.ts';
import { copyOf, tempFolder } from '../../support/files.ts';
import { ask } from '../../support/http.ts';
import { done, run } from '../../support/run.ts';
import { startServer } from '../../support/server.ts';
import { bodiesOf, generation, generationOf, linesOf, until } from '../../support/stress.ts';

const PROFILE = '/b/api/username/user3';
/** Of each generation of the same users what is answered, and a snapshot. */
const expected = [0, 1, 2].map((number) => bodiesOf(generation(number)));
const addresses = [...(expected[0]?.keys() ?? [])];
const snapshots: string[] = [];
beforeAll(async () => {
  for (const number of expected.keys()) {
    const snapshot = join(tempFolder(), 'snapshot.db');
    await done(['snapshot', '--database-url', await databaseOf(...generation(number)), snapshot]);
    snapshots.push(snapshot);
  }
});
const copyOfSnapshot = (number: number) => copyOf(snapshots[number] as string);

/** As root, a server runs as this account, whose files are not root's. */
const SERVANT = process.getuid?.() === 0 ? 65_534 : undefined;

test.runIf(SERVANT !== undefined || process.getuid?.() !== 0)(
  'a replacement that the server may read but does not own goes live',
  async () => {
    const path = copyOfSnapshot(0);
    const incoming = `${path}.incoming`;
    const folder = dirname(path);
    if (SERVANT !== undefined) {
      fs.chmodSync(dirname(folder), 0o755);
      for (const file of [folder, path]) fs.chownSync(file, SERVANT, SERVANT);
    }
    const server = await startServer({ DATABASE_URL: path }, [], { uid: SERVANT });
    expect(generationOf((await ask(server, PROFILE)).body)).toBe(0);
    fs.copyFileSync(snapshots[2] as string, incoming);
    // Root puts in a file of its own; without that right, a file without write permission has to do.
    fs.chmodSync(incoming, 0o444);
    fs.renameSync(incoming, path);
    await until('the new file', async () => generationOf((await ask(server, PROFILE)).body) === 2);
    expect(linesOf(server).filter(({ level }) => level > 30)).toEqual([]);
    if (SERVANT !== undefined) expect(fs.statSync(path).uid).toBe(0);
    expect(await server.stop()).toBe(0);
  },
);

test('a snapshot is served from a read-only folder', async () => {
  const path = copyOfSnapshot(2);
  const folder = dirname(path);
  const isRoot = process.getuid?.() === 0;
  const mounted = isRoot && spawnSync('mount', ['--bind', folder, folder]).status === 0;
  if (mounted) expect(spawnSync('mount', ['-o', 'remount,bind,ro', folder]).status).toBe(0);
  else
    for (const [name, mode] of [
      [path, 0o444],
      [folder, 0o555],
    ] as const)
      fs.chmodSync(name, mode);
  try {
    if (mounted || !isRoot) expect(() => fs.writeFileSync(join(folder, 'x'), '')).toThrow(/EROFS|EACCES/);
    const server = await startServer({ DATABASE_URL: path });
    for (const address of addresses)
      expect({ address, body: (await ask(server, address)).body }).toEqual({
        address,
        body: expected[2]?.get(address),
      });
    expect((await ask(server, '/readyz')).status).toBe(200);
    expect(await server.stop()).toBe(0);
    expect(fs.readdirSync(folder)).toEqual(['site.db']);
    const { code, stderr } = await run(['import', '--database-url', path, '-'], {
      input: '{"totalPost":"0","id":"5","username":"x"}',
    });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^vitrine: [^\n]*site\.db[^\n]*\n$/),
    });
  } finally {
    if (mounted) spawnSync('umount', [folder]);
    else fs.chmodSync(folder, 0o755);
  }
});

test('a file damaged in place: unreadable data is 503, and the server keeps running', async () => {
  const path = copyOfSnapshot(0);
  const server = await startServer({ DATABASE_URL: path });
  const bytes = fs.readFileSync(path);
  const [size, page] = [bytes.length, bytes.readUInt16BE(16)];
  for (const length of [size - page, Math.floor(size / page / 2) * page, page, 100, 0]) {
    fs.truncateSync(path, length);
    for (const address of addresses) {
      const reply = await ask(server, address);
      if (reply.status === 200) expect(reply.body).toBe(expected[0]?.get(address));
      else
        expect({ status: reply.status, code: JSON.parse(reply.body).code }).toEqual({
          status: 503,
          code: 'NOT_READY',
        });
    }
    expect((await ask(server, '/healthz')).status).toBe(200);
  }
  const readiness = (status: number) =>
    until(`readiness ${status}`, async () => (await ask(server, '/readyz')).status === status);
  await readiness(503);
  fs.renameSync(copyOfSnapshot(1), path);
  await until('the good one', async () => generationOf((await ask(server, PROFILE)).body) === 1);
  await readiness(200);
});
