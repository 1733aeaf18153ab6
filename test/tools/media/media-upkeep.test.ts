// The commands `media relink`, `media status` and `media prune`, and takedowns of users whose pictures were copied.
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { copyPath, smallName } from '../../../src/records/copy-files.ts';
import { normalise } from '../../../src/records/normalise.ts';
import { openWriter } from '../../../src/stores/open.ts';
import { runPrune } from '../../../src/tools/media/upkeep.ts';
import { USER_IDS, USERS, usersBeyondLimits } from '../../support/beyond-limits.ts';
import { addRecords, databaseOf } from '../../support/database.ts';
import { tempFolder } from '../../support/files.ts';
import { saveOriginals } from '../../support/importing.ts';
import { copiesIn } from '../../support/media-folder.ts';
import { startFiles } from '../../support/mirror-site.ts';
import { gif, png, sha256 } from '../../support/pictures.ts';
import { folio, shot } from '../../support/records.ts';
import { done, run, spawned } from '../../support/run.ts';

const OLD = 'https://old.example';
const nameOf = (body: Buffer, extension: string) => `${sha256(body)}.${extension}`;
const FACE = nameOf(png('face'), 'png');
const WORK = nameOf(gif('work'), 'gif');
const STRAY = nameOf(png('stray'), 'png');
const YOUNG = nameOf(png('young'), 'png');

const RECORDS = [
  folio(1, 'ada', { avatar: `${OLD}/ada.png`, cover_image: `${OLD}/lost.png` }),
  shot(1, 1, { image: `${OLD}/work.gif`, large_image: `${OLD}/gone.gif` }),
  folio(2, 'bob', { avatar: `${OLD}/bob.png` }),
];

const placeOf = (database: string, name: string) => join(`${database}.media`, copyPath(name));

function put(database: string, name: string, body: Buffer, hours = 48): void {
  const place = placeOf(database, name);
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, body);
  age(place, hours);
}

function age(place: string, hours: number): void {
  const time = Date.now() / 1000 - hours * 3600;
  utimesSync(place, time, time);
}

const copy = (url: string, file: string, bytes: Buffer) => ({ url, file, bytes: bytes.length, reason: null });

/** A database whose pictures were fetched: bob has the same face as ada. */
async function fetched(): Promise<string> {
  const database = await databaseOf(...RECORDS);
  put(database, FACE, png('face'));
  put(database, WORK, gif('work'));
  await saveOriginals(database, [
    copy(`${OLD}/ada.png`, FACE, png('face')),
    copy(`${OLD}/bob.png`, FACE, png('face')),
    copy(`${OLD}/work.gif`, WORK, gif('work')),
    { url: `${OLD}/gone.gif`, file: null, bytes: 0, reason: 'status 404' },
  ]);
  return database;
}

const media = (database: string, ...args: string[]) =>
  done(['media', ...args, '--database-url', database], { env: { MEDIA_URL: 'https://new.example/media' } });

test('media check names missing and damaged copies, and several fetches at once bring them again', async () => {
  const bodies = [png('a'), gif('b')];
  const files = Object.fromEntries(bodies.map((body, nth) => [`/${nth}`, body]));
  const host = await startFiles(files);
  const avatars = Array.from({ length: 30 }, (_, nth) => `${host.url}/${nth % 2}`);
  const database = await databaseOf(
    ...avatars.map((avatar, nth) => folio(nth + 1, `user${nth}`, { avatar })),
  );
  // In processes of their own: one process cannot wait for its own lock.
  const fetchAll = async (...flags: string[]) => {
    const args = ['media', 'fetch', '--rate', '5000', '--media-hosts', host.host, '--database-url', database];
    const { code, stdout } = await spawned([...args, ...flags], {
      env: { MEDIA_URL: 'https://new.example/media' },
    });
    expect(code).toBe(0);
    return stdout;
  };
  await Promise.all([fetchAll(), fetchAll()]);
  const [missing, damaged] = [nameOf(png('a'), 'png'), nameOf(gif('b'), 'gif')];
  rmSync(placeOf(database, missing));
  writeFileSync(placeOf(database, damaged), gif('c'));
  const check = () => run(['media', 'check', '--remove-damaged', '--database-url', database]);
  const { code, stdout, stderr } = await check();
  expect([code, stdout]).toEqual([1, 'copies: 0 sound, 1 missing, 1 damaged and removed\n']);
  expect(stderr).toContain(`${missing} is missing: the copy of ${host.url}/0\n`);
  expect(stderr).toContain(`${damaged} is damaged: the copy of ${host.url}/1\n`);
  expect(stderr).toContain('`vitrine media fetch --check`, which fetches those whose originals still exist');
  expect(await fetchAll()).toMatch(/^pictures: 0 fetched/);
  expect(await fetchAll('--check')).toMatch(/^pictures: 2 fetched/);
  const sound = await check();
  expect([sound.code, sound.stdout]).toEqual([
    0,
    expect.stringMatching(/^copies: 2 sound, 0 missing, 0 damaged\n/),
  ]);
  // Without its original, only a backup brings a copy back.
  const backup = readFileSync(placeOf(database, missing));
  delete files['/0'];
  rmSync(placeOf(database, missing));
  expect((await check()).stderr).toContain(
    'missing or damaged: put them back from a backup of the folder, or',
  );
  expect(await fetchAll('--check')).toMatch(/^pictures: 0 fetched, 1 already here, 1 gone/);
  expect((await check()).stdout).toMatch(/^copies: 1 sound, 1 missing/);
  writeFileSync(placeOf(database, missing), backup);
  expect((await check()).stdout).toMatch(/^copies: 2 sound/);
});

test('media check finds each of more copies than it reads at a time', async () => {
  const database = await fetched();
  const bodies = Array.from({ length: 2500 }, (_, nr) => png(`lost ${nr}`));
  await saveOriginals(
    database,
    bodies.map((body, nr) => copy(`${OLD}/lost-${nr}`, nameOf(body, 'png'), body)),
  );
  const { code, stdout } = await run(['media', 'check', '--database-url', database]);
  expect([code, stdout]).toEqual([
    1,
    'copies: 2 sound, 2500 missing, 0 damaged\nwithout small pictures yet: 2. Run `vitrine media fetch`.\n',
  ]);
});

test('media relink names each copy of 201 users in both families, and media prune takes those of one', async () => {
  const faces = { microblog: png('one'), portfolio: gif('other') };
  const [one, other] = [nameOf(faces.microblog, 'png'), nameOf(faces.portfolio, 'gif')];
  const hosts = { microblog: OLD, portfolio: 'https://older.example' };
  const avatar = (family: 'microblog' | 'portfolio', id: number) => `${hosts[family]}/${id}`;
  const named = usersBeyondLimits((family, id) => ({ avatar: avatar(family, id) }));
  const database = await databaseOf(...named);
  put(database, one, faces.microblog);
  put(database, other, faces.portfolio);
  await saveOriginals(
    database,
    USER_IDS.flatMap((id) => [
      copy(avatar('microblog', id), one, faces.microblog),
      copy(avatar('portfolio', id), other, faces.portfolio),
    ]),
  );
  const relink = (url: string) =>
    done(['media', 'relink', '--database-url', database], { env: { MEDIA_URL: url } });
  const avatars = async () => {
    const text = await done(['export', '--media-urls', '--database-url', database]);
    return Object.groupBy([...text.matchAll(/"avatar":"([^"]*)"/g)], ([, url = '']) => url);
  };
  for (const url of ['https://new.example/media', 'https://newer.example/media']) {
    await relink(url);
    const found = await avatars();
    expect(Object.entries(found).map(([address, all]) => [address, all?.length])).toEqual(
      expect.arrayContaining([
        [`${url}/${one}`, USERS],
        [`${url}/${other}`, USERS],
      ]),
    );
    expect(Object.keys(found)).toHaveLength(2);
  }
  // Of one family, no record names its copy any more.
  await addRecords(database, ...usersBeyondLimits().filter((record) => 'totalShots' in record));
  const env = { MEDIA_URL: 'https://newer.example/media' };
  const pruned = await done(['media', 'prune', '--grace', '0', '--database-url', database], { env });
  expect(pruned).toBe('removed 1 file, 0.0 MB\n');
  expect(copiesIn(`${database}.media`)).toEqual([copyPath(one)]);
  expect((await avatars())[`https://newer.example/media/${one}`]).toHaveLength(USERS);
});

test.each([
  [['media', 'check'], /^copies: 0 sound.*\nvitrine: stopped: 2 of 2 copies were not checked\n$/],
  [['media', 'prune'], /^removed 0 files.*\nvitrine: stopped: the same command removes the others\n$/],
  [['export', 'out.ndjson'], /^vitrine: stopped: out\.ndjson was not written\n$/],
  [['export'], /^vitrine: stopped: the output is not complete\n$/],
] as const)('%j says what it has left undone when it is stopped', async (args, said) => {
  const database = await fetched();
  const signal = AbortSignal.abort();
  const { code, stdout, stderr } = await run([...args, '--database-url', database], { signal });
  expect([code, stdout + stderr]).toEqual([1, expect.stringMatching(said)]);
});

describe('media prune', () => {
  test('keeps an unknown file that a fetch has used since', async () => {
    const database = await fetched();
    put(database, STRAY, png('stray'));
    const writer = await openWriter(database);
    const unknownFiles = async (...args: Parameters<typeof writer.unknownFiles>) => {
      const unknown = await writer.unknownFiles(...args);
      if (args[0].includes(STRAY)) age(placeOf(database, STRAY), 0);
      return unknown;
    };
    const { signal } = new AbortController();
    const pruning = {
      mediaDir: `${database}.media`,
      mediaUrl: 'https://new.example/media',
      grace: 3600,
      out: { write() {} },
      signal,
      writer: { pruneCopies: writer.pruneCopies, unknownFiles },
    };
    expect(await runPrune(pruning)).toMatchObject({ files: 0, bytes: 0 });
    expect(existsSync(placeOf(database, STRAY))).toBe(true);
    await writer.close();
  });

  test('keeps files that records name by the address of a copy', async () => {
    const database = await fetched();
    put(database, STRAY, png('stray'));
    await addRecords(database, folio(3, 'cy', { avatar: `https://new.example/media/${STRAY}` }));
    await media(database, 'prune', '--grace', '0');
    expect(existsSync(placeOf(database, STRAY))).toBe(true);
  });

  test('removes unknown files, and copies that no record named for the time of grace', async () => {
    const database = await fetched();
    put(database, STRAY, png('stray'));
    // A young file is left alone: the database may not know it yet.
    put(database, YOUNG, png('young'), 1);
    // Small files go with their copy.
    for (const name of [FACE, STRAY, YOUNG]) put(database, smallName(name, 480), png('small'));
    await addRecords(database, folio(1, 'ada'), shot(1, 1));
    expect(await media(database, 'prune')).toBe(
      'removed 2 files, 0.0 MB; 3 will be once no record has named them for 24 hours\n',
    );
    expect(copiesIn(`${database}.media`)).toHaveLength(5);
    expect(await media(database, 'prune', '--grace', '0')).toBe('removed 3 files, 0.0 MB\n');
    expect(copiesIn(`${database}.media`)).toEqual([FACE, smallName(FACE, 480)].map(copyPath).sort());
  });

  test('removes nothing that an import under way names, however the records were before', async () => {
    const database = await fetched();
    await addRecords(database, shot(1, 1));
    const writer = await openWriter(database);
    const load = await writer.load({ replace: false, skipInvalid: false, onMisfit() {} });
    const named = normalise(shot(1, 1, { image: `${OLD}/work.gif` }), 'shot');
    if ('row' in named) await load.add(named.row, 1);
    await media(database, 'prune');
    await load.finish();
    await writer.relink('https://new.example/media');
    await writer.close();
    expect(existsSync(placeOf(database, WORK))).toBe(true);
    expect(await done(['export', '--media-urls', '--database-url', database])).toContain(WORK);
  });
});

test('a takedown removes the pictures that only its users have, once their folder is there', async () => {
  const database = await fetched();
  const takeDown = (...args: string[]) =>
    run(['takedown', '--family', 'portfolio', '--database-url', database, ...args]);
  const folder = join(tempFolder(), 'other');
  const elsewhere = await takeDown('ada', '--media-dir', folder);
  expect([elsewhere.code, elsewhere.stderr]).toEqual([
    1,
    expect.stringContaining(
      `vitrine: the takedown is done, but ${folder} does not exist: name the folder of the copies of pictures by MEDIA_DIR: ` +
        '1 must be removed. Run the command again when that has changed.\n',
    ),
  ]);
  expect((await takeDown('ada')).stdout).toContain('removed 0 users and 0 items, and 1 picture\n');
  expect(copiesIn(`${database}.media`)).toEqual([copyPath(FACE)]);
  // What was not there is not counted.
  rmSync(placeOf(database, FACE));
  expect((await takeDown('bob')).stdout).toMatch(/removed 1 user and 0 items\n$/);
});
