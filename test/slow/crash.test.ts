// Killed imports and damaged files: the server never serves partial or corrupt data.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { exportLines } from '../../src/import/export.ts';
import { openArchive } from '../../src/stores/sqlite/read.ts';
import { people } from '../bench/data.ts';
import { copyOf, ndjson, tempFile, tempFolder } from '../files.ts';
import { ask, databaseOf, done, importInto, json, startServer, vitrine } from '../rig.ts';
import { bodiesOf, generation, until } from '../stress.ts';

const KILLS = 16;
const AT_A_TIME = 2;

/** The digest of its export. */
async function digestOf(path: string): Promise<string> {
  const archive = openArchive(path);
  const hash = createHash('sha256');
  for await (const chunk of exportLines(archive, false)) hash.update(chunk);
  await archive.close();
  return hash.digest('hex');
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

describe('kill -9', () => {
  const before = ndjson(...people(200, 15));
  // Every record changes.
  const after = before.replaceAll('User Number', 'Person').replaceAll('"status":"1"', '"status":"2"');
  let [oldDatabase, newFile] = ['', ''];
  let [oldDigest, newDigest] = ['', ''];
  beforeAll(async () => {
    newFile = tempFile('after.ndjson', after);
    oldDatabase = await databaseOf(tempFile('before.ndjson', before));
    oldDigest = await digestOf(oldDatabase);
    newDigest = await digestOf(await databaseOf(tempFile('before.ndjson', before), newFile));
  }, 60_000);

  test(`at ${KILLS} moments of an import leaves all of the old or all of the new data, also for a running server`, async () => {
    expect(newDigest).not.toBe(oldDigest);
    const outcomes: Record<string, number> = {};
    const lane = async (number: number) => {
      const path = copyOf(oldDatabase);
      const server = await startServer({ DATABASE_URL: path });
      const show = async () => (await ask(server, '/a/api/?user=user7')).body;
      const [oldBody, newBody] = [await show(), (await show()).replace('User Number', 'Person')];
      // Measures an import that is not killed, from its first statement.
      const { whole, log } = await measure(path);
      expect(await digestOf(path)).toBe(newDigest);
      await back(path);
      for (let kill = number; kill < KILLS; kill += AT_A_TIME) {
        const child = vitrine(['import', '--database-url', path, newFile]);
        const ended = once(child, 'close');
        await begun(path, child);
        // Half of the kills are spread over the whole import, half over its commit, by the size of the WAL.
        if (Math.floor(kill / AT_A_TIME) % 2 === 0)
          await Promise.race([delay(whole * 0.95 * (kill / KILLS)), ended]);
        else
          while (child.exitCode === null && sizeOf(`${path}-wal`) < log * (kill / KILLS)) await immediate();
        child.kill('SIGKILL');
        await ended;
        expect([oldBody, newBody]).toContain(await show());
        const digest = await digestOf(path);
        expect([oldDigest, newDigest]).toContain(digest);
        expect(await show()).toBe(digest === oldDigest ? oldBody : newBody);
        const outcome = `${digest === oldDigest ? 'old' : 'new'}, ${child.signalCode === null ? 'done' : 'killed'}`;
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        if (digest === newDigest) await back(path);
      }
      expect((await ask(server, '/readyz')).status).toBe(200);
      expect(await done(['check', '--database-url', path])).toContain('is sound');
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, (_, number) => lane(number)));
    console.log(`kill -9: ${JSON.stringify(outcomes)}`);
    expect(outcomes['old, killed']).toBeGreaterThan(KILLS / 5);
  }, 600_000);

  /** Waits for the first statement of the import, which opens the file. */
  const begun = (path: string, child: { pid?: number; exitCode: number | null }) =>
    until('the import to begin', () => child.exitCode !== null || isOpenIn(child.pid as number, path));

  function isOpenIn(pid: number, path: string): boolean {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === path);
    } catch {
      return false;
    }
  }

  /** The duration of an import in milliseconds, and the largest size of its WAL. */
  async function measure(path: string): Promise<{ whole: number; log: number }> {
    const child = vitrine(['import', '--database-url', path, newFile]);
    const ended = once(child, 'close');
    await begun(path, child);
    const start = performance.now();
    let log = 0;
    while (child.exitCode === null) {
      log = Math.max(log, sizeOf(`${path}-wal`));
      await immediate();
    }
    await ended;
    return { whole: performance.now() - start, log };
  }

  /** Restores the old data in the same file, which the server has open. */
  async function back(path: string): Promise<void> {
    await importInto(path, ['-'], before);
    expect(await digestOf(path)).toBe(oldDigest);
  }
});

describe('starting with a damaged database', () => {
  const records = generation(2);
  const bodies = bodiesOf(records);
  const HURTS: [what: string, hurt: (bytes: Buffer, page: number) => Buffer | undefined][] = [
    ['cut to half', (bytes) => bytes.subarray(0, bytes.length / 2)],
    ['cut within a page', (bytes) => bytes.subarray(0, bytes.length - 1000)],
    ['with garbage at its start', (bytes) => void bytes.fill('rubbish', 0, 64)],
    ['with a wrong page count in its header', (bytes) => void bytes.writeUInt32BE(7777, 28)],
    ...Array.from({ length: 4 }, (_, index): (typeof HURTS)[number] => [
      `with bits flipped in the head of page ${index + 1}`,
      (bytes, page) =>
        void bytes.writeUInt8(
          (bytes[index * page + (index === 0 ? 100 : 0)] ?? 0) ^ 0x5a,
          index * page + (index === 0 ? 100 : 0),
        ),
    ]),
    ['with a page of zeros', (bytes, page) => void bytes.fill(0, 3 * page, 4 * page)],
    ['that is a folder', () => undefined],
  ];

  let whole: Buffer;
  beforeAll(async () => {
    whole = readFileSync(await databaseOf(...records));
  });

  test.each(HURTS)('%s: refused with one message, or no response is wrong', async (what, hurt) => {
    const path = join(tempFolder(), 'site.db');
    const bytes = Buffer.from(whole);
    if (what.endsWith('folder')) mkdirSync(path);
    else writeFileSync(path, hurt(bytes, bytes.readUInt16BE(16)) ?? bytes);
    const starting = await startServer({ DATABASE_URL: path }).catch((error: Error) => error.message);
    if (typeof starting === 'string') {
      expect(starting).toMatch(/ended with 1:\nvitrine: [^\n]*site\.db[^\n]+\n$/);
      expect(starting).not.toMatch(/\bat .*:\d+:\d+|node_modules/);
      return;
    }
    for (const [address, body] of bodies) {
      const reply = await ask(starting, address);
      if (reply.status === 200) expect(reply.body).toBe(body);
      else expect([reply.status, json(reply).code]).toEqual([503, 'NOT_READY']);
    }
    expect((await ask(starting, '/healthz')).status).toBe(200);
  });
});
