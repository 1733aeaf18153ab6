// `vitrine serve FILE…`: files are served themselves, and again whenever they are saved. What is refused is in
// fixtures/cases/serve-files.txt.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { lookAt, watchSaves } from '../../src/import/watch-files.ts';
import { ndjson, tempFile, tempFolder } from '../support/files.ts';
import { ask, json } from '../support/http.ts';
import { prepareServe } from '../support/run.ts';
import { serveHere } from '../support/serve-here.ts';
import { type LocalServer, startServer } from '../support/server.ts';
import { until } from '../support/stress.ts';

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

test('files that are out of reach for a moment are imported after all', async () => {
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

test('a server answers while it looks at a folder of many files', async () => {
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

test('what is refused at the start leaves nothing behind', async () => {
  expect((await prepareServe(['serve', tempFile('people.ndjson', '{}')])).code).toBe(1);
  expect(readdirSync(temporary)).toEqual([]);
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
    const settings = {
      WORKERS: '2',
      PURGE: 'nginx:/cache',
      NOTIFY: 'http://127.0.0.1:9',
      NOTIFY_SECRET: 'x'.repeat(32),
    };
    const server = await serveHere({ DATABASE_URL: 'other.db', ...settings }, [people, shots]);
    expect(await titles(server)).toEqual(['One']);
    expect(server.log.join('\n')).toContain(`"data":"${people}, ${shots}","workers":1`);
    expect(server.log.join('\n')).toContain('one process serves the files: WORKERS has no effect');
    expect(server.log.join('\n')).toContain(
      'caches are not purged when files are saved: PURGE has no effect',
    );
    expect(server.log.join('\n')).toContain('nothing is sent when files are saved: NOTIFY has no effect');
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

  test('stay as they were while a saved file is wrong: the log says where', async () => {
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

  test('are imported again when a file is saved in a folder that a map reads', async () => {
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

  test('stay as they were when a map fails later, and the server goes on', async () => {
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

  test('a map whose promise never settles stops neither the watching nor the end', async () => {
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
});

test('the explorer names the line and field of a fault until the next save', async () => {
  const file = tempFile('people.ndjson', ndjson(MIRA));
  const own = await serveHere({}, [file]);
  const look = async () => {
    const { body } = await ask(own, '/');
    const { live } = JSON.parse(/type="application\/json">([^<]*)</.exec(body)?.[1] ?? 'null');
    const [, hidden, shown] = /<div id="faults"[^>]*?( hidden)?>.*?<pre>([^<]*)<\/pre>/s.exec(body) ?? [];
    return { savedAt: live.savedAt, faults: live.faults, isHidden: hidden !== undefined, shown };
  };
  const first = await look();
  expect(first).toMatchObject({ faults: [], isHidden: true, shown: '' });
  writeFileSync(file, ndjson(MIRA, { ...FERRY, date: 'yesterday' }));
  await untilLogged(own, 'the data before is served');
  const second = await look();
  expect(second).toMatchObject({ savedAt: first.savedAt, isHidden: false });
  expect(second.faults).toEqual([
    expect.stringMatching(/^people\.ndjson:2: date: must be a real date/),
    '1 of 2 records is wrong',
  ]);
  expect(second.shown).toContain('people.ndjson:2: date: must be a real date');
  writeFileSync(file, ndjson(MIRA, FERRY));
  await untilTitles(own, ['Ferry']);
  const third = await look();
  expect(third).toMatchObject({ faults: [], isHidden: true, shown: '' });
  expect(third.savedAt).toBeGreaterThan(first.savedAt);
});
