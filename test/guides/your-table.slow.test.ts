// Walks the guide from a table of PostgreSQL to a site: its queries, its first import, and the job of its unit.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROGRAM, tempFile, tempFolder } from '../support/files.ts';
import { ask, json } from '../support/http.ts';
import { codeBlock, readPage, section } from '../support/pages.ts';
import { type Cluster, havePostgres, startCluster } from '../support/postgres-rig.ts';
import { done } from '../support/run.ts';
import { serveHere } from '../support/serve-here.ts';

const GUIDE = 'src/guides/your-table.md';
const exec = promisify(execFile);

const ROWS = `
  INSERT INTO members VALUES
    (1, 'mira', 'Mira Halonen', 'Letters, and "quotes"', 'Turku', '{lettering,print}'),
    (2, 'joan', 'Joan Puig', NULL, NULL, NULL);
  INSERT INTO works VALUES
    (11, 1, 'Ferry timetable', '{type,print}', 'https://own.example/11.png', '2026-02-28 12:00:00.25+02'),
    (12, 1, E'Two\\nlines', '{}', NULL, '2026-03-01 00:00:00+00'),
    (13, 2, 'Chair', NULL, NULL, '2025-12-31 23:59:59+00');`;

let cluster: Cluster;
beforeAll(async () => {
  if (havePostgres) cluster = await startCluster();
});
afterAll(() => cluster?.remove());

/** The machine of the guide in a folder, with `own` as its database. */
async function createMachine() {
  const { primary } = cluster;
  const own = await cluster.createDatabase();
  const [tables = '', role = ''] = [...readPage(GUIDE).matchAll(/^```sql\n(.*?)^```/gms)].map(
    ([, code = '']) => code,
  );
  await primary.sql(tables + ROWS + role, own);
  const folder = tempFolder();
  for (const name of ['etc/systemd', 'srv', 'lib']) mkdirSync(join(folder, name), { recursive: true });
  const local = (code: string) =>
    code
      .replaceAll('PGHOST=db.example.org', `PGHOST=127.0.0.1 PGPORT=${primary.port}`)
      .replaceAll('PGDATABASE=own', `PGDATABASE=${own}`)
      .replaceAll('/var/lib/vitrine', join(folder, 'lib'))
      .replace(/(?<![\w/])\/(etc|srv)\//g, `${folder}/$1/`)
      .replaceAll('/opt/vitrine/src/vitrine.js', PROGRAM)
      .replaceAll('/usr/bin/node', process.execPath);
  const prelude = [
    `vitrine() { '${process.execPath}' '${PROGRAM}' "$@"; }`,
    'runuser() { shift 3; "$@"; }',
    'install() { shift 5; mkdir -p "$@"; }',
    'chown() { :; }; systemctl() { :; }',
  ].join('\n');
  const run = async (code: string): Promise<string> => {
    const { PATH, HOME } = process.env;
    const options = { cwd: folder, env: { PATH, HOME } };
    return (await exec('bash', ['-ec', `${prelude}\n${local(code)}`], options)).stdout;
  };
  return { primary, own, run, folder, database: join(folder, 'lib/site.db') };
}

type Machine = Awaited<ReturnType<typeof createMachine>>;

/** What systemd would run of the unit with the guide's drop-in. */
async function runJob({ folder, database, run }: Machine): Promise<string> {
  const unit = readFileSync(join(folder, 'etc/systemd/system/vitrine-import.service.d/table.conf'), 'utf8');
  const [, variables = ''] = /^Environment=(.*)$/m.exec(unit) ?? [];
  const [, place = ''] = /^WorkingDirectory=(.*)$/m.exec(unit) ?? [];
  const commands = [...unit.matchAll(/^ExecStart(?:Pre)?=(.+)$/gm)].map(([, command]) => command);
  expect(commands).toHaveLength(2);
  return await run(`cd ${place}; export ${variables} DATABASE_URL='${database}'\n${commands.join('\n')}`);
}

test.skipIf(!havePostgres)('from a table of PostgreSQL to a site that follows it', async () => {
  const machine = await createMachine();
  const { primary, own, run, folder, database } = machine;
  await run(codeBlock(GUIDE, '2\\. The two queries', 'sh'));
  const first = '3\\. The first import';
  expect(await run(codeBlock(GUIDE, first, 'sh'))).toBe(codeBlock(GUIDE, first, 'text'));
  const server = await serveHere({ DATABASE_URL: database });
  const profile = (user: string) => ask(server, `/b/api/username/${user}`);
  expect(json(await profile('mira'))).toMatchObject({
    totalShots: '2',
    bio: 'Letters, and "quotes"',
    location: 'Turku',
    skills: 'lettering,print',
  });
  expect(json(await ask(server, '/b/api/username/mira/shots')).Shots).toMatchObject([
    { title: 'Two\nlines', tags: '', image: '' },
    { tags: 'type,print', image: 'https://own.example/11.png', date: '2026-02-28 10:00:00' },
  ]);

  await run(codeBlock(GUIDE, '4\\. Repeat it', 'sh'));
  expect(await runJob(machine)).toMatch(/profiles +0 +0 +2 +0\nshots +0 +0 +3 +0/);
  await primary.sql(`UPDATE members SET city = 'Oulu' WHERE id = 1`, own);
  expect(await runJob(machine)).toMatch(/profiles +0 +1 +1 +0/);
  await expect.poll(async () => json(await profile('mira')).location).toBe('Oulu');

  // One of two is more than 20%: nothing changes until an operator allows it.
  await primary.sql('DELETE FROM works WHERE author = 2; DELETE FROM members WHERE id = 2', own);
  await expect(runJob(machine)).rejects.toThrow(/would remove 1 of 2 portfolio profiles/);
  expect((await profile('joan')).status).toBe(200);
  const byHand = 'vitrine import --replace --max-removed 100% members.csv works.csv';
  await run(`cd '${folder}/srv/export' && DATABASE_URL='${database}' ${byHand}`);
  await expect.poll(async () => (await profile('joan')).status).toBe(404);

  // A query that fails imports nothing.
  await primary.sql('ALTER TABLE works RENAME TO pieces', own);
  await expect(runJob(machine)).rejects.toThrow(/relation "works" does not exist/);
  expect((await profile('mira')).status).toBe(200);
});

test('the queries for SQLite, and a map that makes numbers of UUIDs', async () => {
  const shell = section(GUIDE, 'MySQL and SQLite');
  const [members = '', works = ''] = [...shell.matchAll(/own\.db "(.*?)"/g)].map(([, query = '']) => query);
  const own = new Database(':memory:').exec(`
    CREATE TABLE members (id, login, full_name); CREATE TABLE works (id, author, title, made_at);
    INSERT INTO members VALUES ('0b7e5a52', 'mira', 'Mira Halonen');
    INSERT INTO works VALUES ('f47ac10b', '0b7e5a52', 'Ferry timetable', '2026-02-28 10:00:00+00');`);
  const files = [members, works].map((query) => tempFile('rows', JSON.stringify(own.prepare(query).all())));
  const map = codeBlock('src/guides/bring-your-data.md', 'Tables of your own', 'js');
  const args = ['import', '--map', tempFile('map.mjs', map), '--replace', ...files];
  const shown = await done(args, { env: { DATABASE_URL: join(tempFolder(), 'site.db') } });
  expect(shown).toMatch(/portfolio profiles +1(.|\n)*shots +1/);
});
