// Fields that are added to the schemas, and variants that are added to the table, reach the records and lists that a database has.
import '../support/more-fields.ts';
import '../support/more-variants.ts';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openArchive, openServed } from '../../src/stores/open.ts';
import { importInto, newDatabase, select, storeName } from '../support/database.ts';
import { fixture, PROGRAM, ugly } from '../support/files.ts';
import { bodyOf, executeSql, exported, newPath } from '../support/importing.ts';
import { done, run } from '../support/run.ts';

const FILES = [
  fixture('microblog.ndjson'),
  fixture('portfolio.ndjson'),
  ugly('hostile-names.ndjson'),
  ugly('hostile-texts.ndjson'),
];
const LACKS = /lacks fields or lists that this version serves: run `vitrine migrate`/;
const ANSWERS = [
  'SELECT family, id, etag, served FROM profiles ORDER BY family, id',
  'SELECT family, owner, collection, etag, body FROM lists ORDER BY family, owner, collection',
];
const INPUT = '{"id":"4711","username":"new","Likes":"1","made_up_first":"1"}';
const isSqlite = storeName() === 'SQLite';

/** Another process has the tables without what is added. */
function importEarlier(url: string): void {
  const args = [PROGRAM, 'import', '--quiet', '--database-url', url, ...FILES];
  execFileSync(process.execPath, args, { stdio: 'ignore' });
}

let earlier: string;
let fresh: string;
let url: string;

beforeAll(async () => {
  fresh = await newDatabase();
  await importInto(fresh, FILES);
  earlier = newPath();
  if (isSqlite) importEarlier(earlier);
});

beforeEach(async () => {
  url = await newDatabase();
  if (isSqlite) copyFileSync(earlier, url);
  else importEarlier(url);
});

const migrate = () => done(['migrate', '--database-url', url]);
const check = () => done(['check', '--database-url', url]);

describe(`what is added, in ${storeName()}`, () => {
  test('a server names the command that adds it, and serves it after that', async () => {
    const reader = await openServed(url, () => {});
    for (const [family, list] of [
      ['microblog', 'posts'],
      ['portfolio', 'Pieces'],
    ] as const)
      await expect(async () => reader.items(family, 'ada', list)).rejects.toThrow(LACKS);
    await migrate();
    const items = async (family: 'microblog' | 'portfolio', list: string) => {
      const found = await reader.items(family, 'ada', list);
      return { etag: found?.etag, items: JSON.parse(bodyOf(found))[list] };
    };
    // A node looks for it every now and then.
    await expect
      .poll(async () => (await items('microblog', 'posts').catch(() => undefined))?.items[0])
      .toMatchObject({ made_up: '' });
    expect(await items('portfolio', 'Pieces')).toEqual(await items('portfolio', 'Shots'));
    await reader.close();
  });

  test('what is stored is then what an import of the same records would store', async () => {
    await migrate();
    expect(await exported(url)).toEqual(await exported(fresh));
    for (const served of ANSWERS) expect(await select(url, served)).toEqual(await select(fresh, served));
    expect(await check()).toContain('is sound');
    expect(await done(['import', '--database-url', url, ...FILES])).not.toMatch(/[1-9]\d* +\d+ +\d+$/m);
  });

  test('an import adds it to all records', async () => {
    expect((await run(['check', '--database-url', url])).stderr).toMatch(LACKS);
    await done(['import', '--database-url', url, '-'], { input: INPUT });
    expect(await check()).toContain('is sound');
  });

  test('the answers of all users count as changed', async () => {
    const [before] = (await select(url, 'SELECT generation FROM vitrine')).flat();
    await migrate();
    const archive = await openArchive(url);
    expect((await archive.changes(Number(before))).changes).toBe('everything');
    await archive.close();
  });
});

const describeOnSqlite = isSqlite ? describe : () => {};
describeOnSqlite('in a SQLite file', () => {
  test('SQL tools find new fields as the last columns of the view', async () => {
    await migrate();
    const columns = (await select(url, "SELECT name FROM pragma_table_info('posts')")).flat();
    expect(columns.slice(-3)).toEqual(['made_up', 'made_up_too', 'made_up_last']);
    expect(await select(url, 'SELECT DISTINCT made_up FROM posts')).toEqual([['']]);
  });

  test('copies of pictures stay in what is served', async () => {
    executeSql(
      url,
      `UPDATE vitrine SET media_url = 'https://media.example';
      INSERT INTO media (url, file, linked_file)
        SELECT url, id || '.png', id || '.png' FROM (
          SELECT max(id) AS id, photo AS url FROM posts WHERE photo LIKE 'http%'
          UNION SELECT max(id), avatar FROM portfolio_profiles
          WHERE avatar LIKE 'http%' AND avatar NOT IN (SELECT avatar FROM microblog_profiles))`,
    );
    expect(await select(url, 'SELECT count(*) FROM media')).toEqual([[2]]);
    await migrate();
    expect(await check()).toContain('is sound');
    expect(JSON.stringify(await exported(url))).not.toContain('https://media.example');
  });

  test('a snapshot from before can be restored', async () => {
    const other = newPath();
    await done(['restore', '--database-url', other, url]);
    expect(await exported(other)).toEqual(await exported(fresh));
    expect(await done(['check', '--database-url', other])).toContain('is sound');
  });

  test('a program that does not know the field refuses the database', () => {
    const { stderr } = spawnSync(process.execPath, [PROGRAM, 'check', '--database-url', fresh]);
    expect(String(stderr)).toMatch(
      /was made by a newer version of Vitrine \(its posts have the field made_up\)/,
    );
  });

  test('a view that was lost is no lack of fields', async () => {
    await migrate();
    executeSql(url, 'DROP VIEW posts');
    expect(await check()).toContain('is sound');
  });

  test('a damaged record stays as it is, and the others get the fields', async () => {
    executeSql(url, "UPDATE items SET record = '{\"id\"' WHERE family = 'microblog' AND id = 109815");
    await migrate();
    const { stderr } = await run(['check', '--database-url', url]);
    expect(stderr).toContain(
      'is not sound: 1 records are filed under values they do not hold (microblog "109815")',
    );
  });
});
