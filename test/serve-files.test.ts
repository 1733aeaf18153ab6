// `vitrine serve FILE…`: files are served themselves, and again whenever they are saved.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { lookAt, watchSaves } from '../src/cli/watch-files.ts';
import { ndjson, tempFile, tempFolder } from './files.ts';
import { ask, json, type LocalServer, prepareServe, startServer } from './rig.ts';
import { serveHere } from './serve-here.ts';
import { until } from './stress.ts';

const MIRA = { id: '1', username: 'mira', name: 'Mira', skills: 'type' };
const FERRY = { id: '2', user_id: '1', date: '2026-02-28 10:00:00', title: 'Ferry' };
const PROFILE = '/b/api/username/mira';

/** The titles of mira's shots; undefined while there is no such user. */
async function titles(server: LocalServer): Promise<string[] | undefined> {
  const reply = await ask(server, `${PROFILE}/shots`);
  return reply.status === 200 ? json(reply).Shots.map(({ title }: { title: string }) => title) : undefined;
}

const untilTitles = (server: LocalServer, wanted: string[] | undefined) =>
  until(`the titles ${wanted}`, async () => String(await titles(server)) === String(wanted));

const untilLogged = (server: LocalServer, text: string) =>
  until(text, async () => server.log.some((line) => line.includes(text)));

const databaseFile = tempFile('site.db', 'SQLite format 3\0');

const temporary = tempFolder();
beforeAll(() => void vi.stubEnv('TMPDIR', temporary));
afterAll(() => void vi.unstubAllEnvs());

test('files are imported when nothing writes to them any more, and once', async () => {
  const states = ['old', 'half', 'more', 'whole', 'whole', 'whole', 'whole'];
  const handled: string[] = [];
  const stop = new AbortController();
  let state = '';
  const look = async () => {
    if (states.length === 1) stop.abort();
    state = states.shift() ?? '';
    return state;
  };
  await watchSaves(look, 'old', async () => void handled.push(state), stop.signal);
  expect(handled).toEqual(['whole']);
});

test('files that cannot be reached for a moment while they are imported are imported after all', async () => {
  const states = ['new', 'new', 'missing', 'new', 'new', 'new', 'new'];
  const imported: boolean[] = [];
  const stop = new AbortController();
  const look = async () => {
    if (states.length === 1) stop.abort();
    return states.shift() ?? '';
  };
  const onSave = async (change: AbortSignal) => {
    if (imported.push(false) === 1) await once(change, 'abort');
    imported[imported.length - 1] = !change.aborted;
  };
  await watchSaves(look, 'old', onSave, stop.signal);
  expect(imported).toEqual([false, true]);
});

test('looking at a folder of many files lets the server answer, and counts those that the map reads', async () => {
  const folder = tempFolder();
  const touch = (name: string) => writeFileSync(join(folder, name), '');
  for (let nth = 0; nth < 500; nth++) touch(`${nth}.json`);
  let turns = 0;
  const counting = setInterval(() => turns++);
  const before = await lookAt([folder], /\.json$/g);
  clearInterval(counting);
  expect(turns).toBeGreaterThan(3);
  touch('film.mp4');
  expect(await lookAt([folder], /\.json$/g)).toBe(before);
  touch('500.json');
  expect(await lookAt([folder], /\.json$/g)).not.toBe(before);
});

describe('files that are served', () => {
  test('are served as saved, however an editor saves them, until the end', async () => {
    const folder = tempFolder();
    const [people, shots] = [join(folder, 'people.json'), join(folder, 'shots.csv')];
    const writeShots = (path: string, ...names: string[]) =>
      writeFileSync(
        path,
        `id,user_id,date,title\n${names.map((name, index) => `${index + 5},1,2026-02-28 10:00:00,${name}\n`).join('')}`,
      );
    writeFileSync(people, JSON.stringify([MIRA]));
    writeShots(shots, 'One');
    const server = await serveHere({ DATABASE_URL: 'other.db', WORKERS: '2', PURGE: 'nginx:/cache' }, [
      people,
      shots,
    ]);
    expect(await titles(server)).toEqual(['One']);
    expect(server.log.join('\n')).toContain(`"data":"${people}, ${shots}","workers":1`);
    expect(server.log.join('\n')).toContain('one process serves the files: WORKERS has no effect');
    expect(server.log.join('\n')).toContain(
      'caches are not purged when files are saved: PURGE has no effect',
    );
    expect((await ask(server, PROFILE)).headers).not.toHaveProperty('x-accel-expires');

    writeShots(shots, 'One', 'Two');
    await untilTitles(server, ['Two', 'One']);

    writeShots(`${shots}.new`, 'Two');
    renameSync(`${shots}.new`, shots);
    await untilTitles(server, ['Two']);

    renameSync(people, `${people}~`);
    await untilLogged(server, `${people} does not exist`);
    expect(await titles(server)).toEqual(['Two']);
    writeFileSync(people, JSON.stringify([{ ...MIRA, username: 'mika' }]));
    await untilTitles(server, undefined);
    expect(existsSync('other.db')).toBe(false);

    expect(readdirSync(temporary)).toHaveLength(1);
    expect(server.log.join('\n')).not.toContain('took the place');
    expect(await server.stop()).toBe(0);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('stay as they were while a saved one is wrong: the log names line and field', async () => {
    const file = tempFile('people.ndjson', ndjson(MIRA, FERRY));
    const server = await serveHere({}, [file]);
    for (const [content, fault] of [
      [ndjson(MIRA, { ...FERRY, date: '2026-02-30' }), 'people.ndjson:2: date: must be a real date'],
      [`${ndjson(MIRA)}{"id":"2",\n`, 'people.ndjson:2: record: not valid JSON'],
      ['', 'people.ndjson: it has no records'],
    ] as const) {
      writeFileSync(file, content);
      await untilLogged(server, fault);
      expect(await titles(server)).toEqual(['Ferry']);
    }
    writeFileSync(file, ndjson(MIRA, { ...FERRY, title: 'Mended' }));
    await untilTitles(server, ['Mended']);
    await server.stop();
  });

  test('are served again when one is saved or added in a folder that a map reads', async () => {
    const map = tempFile(
      'map.mjs',
      String.raw`export const files = /\.json$/; export default (record) => record;`,
    );
    const folder = tempFolder();
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data/people.json'), JSON.stringify([MIRA, FERRY]));
    const server = await serveHere({}, [folder, '--map', map]);
    expect(await titles(server)).toEqual(['Ferry']);
    writeFileSync(join(folder, 'data/people.json'), JSON.stringify([MIRA, { ...FERRY, title: 'Tram' }]));
    await untilTitles(server, ['Tram']);
    writeFileSync(join(folder, 'data/more.json'), JSON.stringify([{ ...FERRY, id: '3', title: 'Bus' }]));
    await untilTitles(server, ['Bus', 'Tram']);
    await server.stop();
  });

  test('are watched on when something takes their place that cannot be read again', async () => {
    const file = tempFile('people.ndjson', ndjson(MIRA, FERRY));
    const server = await startServer({ TMPDIR: temporary }, [file]);
    for (const [index, place] of [
      ['mkfifo', file],
      ['ln', '-s', '/dev/zero', file],
    ].entries()) {
      rmSync(file);
      execFileSync(place[0] as string, place.slice(1));
      await until(
        'two refusals',
        () => server.log.filter((line) => line.includes('can be read once only')).length > index,
      );
      expect(await titles(server)).toEqual([index === 0 ? 'Ferry' : 'Mended 0']);
      rmSync(file);
      writeFileSync(file, ndjson(MIRA, { ...FERRY, title: `Mended ${index}` }));
      await untilTitles(server, [`Mended ${index}`]);
    }
    rmSync(file);
    execFileSync('mkfifo', [file]);
    await until('a third', () => server.log.filter((line) => line.includes('read once only')).length > 2);
    expect(await server.stop()).toBe(0);
  });

  test('are imported once more if they change meanwhile', async () => {
    const file = tempFile('people.ndjson', ndjson(MIRA, FERRY));
    const map = tempFile('map.mjs', 'export default (record) => record;');
    const server = await startServer({}, [file, '--map', map]);
    const begun = join(tempFolder(), 'begun');
    const endless = `import { writeFileSync } from 'node:fs';
      export default async (record) => {
        writeFileSync(${JSON.stringify(begun)}, '');
        await new Promise((done) => setTimeout(done, 20));
        return record;
      };`;
    writeFileSync(file, ndjson(MIRA, FERRY, ...Array.from({ length: 50_000 }, () => FERRY)));
    writeFileSync(map, endless);
    await until('an import of a quarter of an hour', () => existsSync(begun));
    writeFileSync(file, ndjson(MIRA, FERRY));
    writeFileSync(map, "export default (record) => ({ ...record, title: record.title && 'Mended' });");
    await untilTitles(server, ['Mended']);
    await server.stop();
  });

  test('are not kept by browsers, unless CACHE_CONTROL says so', async () => {
    const file = tempFile('people.ndjson', ndjson(MIRA, FERRY));
    for (const [settings, args, caching] of [
      [{}, [file], 'no-cache'],
      [{}, [], 'no-cache'],
      [{ CACHE_CONTROL: 'max-age=7' }, [file], 'max-age=7'],
    ] as const) {
      const server = await serveHere(settings, args);
      const path = args.length > 0 ? PROFILE : '/b/api/username/ada';
      expect((await ask(server, path)).headers['cache-control']).toBe(caching);
      await server.stop();
    }
  });

  test('are mapped anew when the map is saved', async () => {
    const file = tempFile('people.ndjson', ndjson(MIRA, FERRY));
    const map = tempFile('map.mjs', 'export default (record) => record;');
    const server = await serveHere({}, [file, '--map', map]);
    expect(await titles(server)).toEqual(['Ferry']);
    writeFileSync(map, 'export default (record) => ({ ...record, title: record.title?.toUpperCase() });');
    await untilTitles(server, ['FERRY']);
    await server.stop();
  });

  test('stay as they were when a map leaves an error behind, and the server goes on', async () => {
    const file = tempFile('people.ndjson', ndjson(MIRA, FERRY));
    const map = tempFile('map.mjs', 'export default (record) => record;');
    const server = await startServer({}, [file, '--map', map]);
    writeFileSync(map, "export default () => void Promise.reject(new Error('forgotten'));");
    await untilLogged(server, 'nothing caught: Error: forgotten');
    await untilLogged(server, 'the data before is served');
    expect(await titles(server)).toEqual(['Ferry']);
    writeFileSync(map, "export default (record) => ({ ...record, title: 'Mended' });");
    await untilTitles(server, ['Mended']);
    await server.stop();
  });

  test('are watched on, and the server stops, while a promise of a map is never settled', async () => {
    const file = tempFile('people.ndjson', ndjson(MIRA, FERRY));
    const map = tempFile('map.mjs', 'export default (record) => record;');
    const called = join(tempFolder(), 'called');
    const hanging = `import { writeFileSync } from 'node:fs';
      setInterval(() => {}, 1000);
      export default () => (writeFileSync(${JSON.stringify(called)}, ''), new Promise(() => {}));`;
    const server = await startServer({}, [file, '--map', map]);
    const hang = async () => {
      rmSync(called, { force: true });
      writeFileSync(map, hanging);
      await until('a call of the map', () => existsSync(called));
    };
    await hang();
    writeFileSync(map, "export default (record) => ({ ...record, title: 'Mended' });");
    await untilTitles(server, ['Mended']);
    await hang();
    expect(await server.stop()).toBe(0);
  });

  test('leave nothing behind for long when the server is killed: the next one removes it', async () => {
    const file = tempFile('people.ndjson', ndjson(MIRA, FERRY));
    const folders = () => readdirSync(temporary).filter((name) => name.startsWith('vitrine-served-'));
    const killed = await startServer({ TMPDIR: temporary }, [file]);
    killed.child.kill('SIGKILL');
    await killed.ended;
    const before = folders();
    const running = await startServer({ TMPDIR: temporary }, [file]);
    expect(folders()).not.toEqual(expect.arrayContaining(before));
    const server = await startServer({ TMPDIR: temporary }, [file]);
    expect([before.length, folders().length, await titles(running)]).toEqual([1, 2, ['Ferry']]);
    await Promise.all([running.stop(), server.stop()]);
    expect(folders()).toEqual([]);
  });

  test('are served without the word serve', async () => {
    const file = tempFile('people.ndjson', ndjson(MIRA, FERRY));
    const { code, stderr } = await prepareServe([file, '--workers', '2']);
    expect([code, stderr]).toEqual([0, 'vitrine: one process serves the files: WORKERS has no effect\n']);
  });

  test('of json-server need an owner and a date for each item: the log says how to add them', async () => {
    const posts = [1, 2].map((id) => ({ id: String(id), title: 'a title', views: 100 }));
    // As in its README.
    const example = {
      posts,
      comments: [{ id: '1', text: 'a comment about post 1', postId: '1' }],
      profile: { name: 'typicode' },
    };
    const file = tempFile('db.json', JSON.stringify(example));
    const { code, stderr } = await prepareServe(['serve', file]);
    const faults = [
      `${file}:1: user_id: is missing: add the id of a user, as "1" for {"id":"1","username":"mira"}`,
      `${file}:1: date: is missing: add one such as 2026-02-28 10:00:00`,
    ];
    const end = 'vitrine: nothing is served: 2 of 2 records are wrong\n';
    expect([code, stderr]).toEqual([1, [...faults, ...faults, end].join('\n')]);

    const owned = posts.map((post) => ({ ...post, userId: 1, date: '2026-02-28' }));
    writeFileSync(file, JSON.stringify({ ...example, posts: owned }));
    expect((await prepareServe(['serve', file])).stderr).toContain('user_id: is missing: is it userId?');

    const users = [{ id: '1', username: 'mira', name: 'Mira' }];
    const shots = posts.map((post) => ({ ...post, user_id: 1, date: '2026-02-28 10:00:00' }));
    writeFileSync(file, JSON.stringify({ ...example, posts: shots, users }));
    const server = await serveHere({}, [file]);
    expect(await titles(server)).toEqual(['a title', 'a title']);
    await server.stop();
  });

  test.each<[string, string[], number, RegExp]>([
    ['a file that is not there', ['none.ndjson'], 1, /^vitrine: none\.ndjson does not exist\n$/],
    ['a folder', ['.'], 1, /^vitrine: \. is a folder: name the files in it\n$/],
    ['an empty file', [tempFile('empty.json', '')], 1, /^vitrine: .*empty\.json: it has no records\n$/],
    [
      'no text',
      [tempFile('x.bin', Buffer.from([0xff]))],
      1,
      /x\.bin:1: .*UTF-8.*\nvitrine: nothing is served/,
    ],
    [
      'faulty records',
      [tempFile('f.ndjson', ndjson(MIRA, MIRA, {}))],
      1,
      /:3: .*\nvitrine: nothing is served: 1 of 3 records is/,
    ],
    [
      'standard input',
      ['-'],
      2,
      /^vitrine: serve reads files again .* standard input can be read once only\n$/,
    ],
    ['a device', ['/dev/null'], 2, /^vitrine: .*\/dev\/null can be read once only\n$/],
    ['a database', [databaseFile], 2, /^vitrine: .*\.db is a database: give it with --database-url\n$/],
    ['a database as well', ['x.json', '--database-url', 'site.db'], 2, /^vitrine: .* not both\n$/],
    ['a map without files', ['--map', 'x.mjs'], 2, /^vitrine: --map, .* goes with files to serve\n$/],
  ])('%s is refused in a sentence', async (_, args, exitCode, sentence) => {
    const { code, stdout, stderr } = await prepareServe(['serve', ...args]);
    expect([code, stdout, stderr]).toEqual([exitCode, '', expect.stringMatching(sentence)]);
    expect(readdirSync(temporary)).toEqual([]);
  });
});
