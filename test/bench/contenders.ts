// The same users in the form that each contender wants, and the servers that several rows share; each is made when the first
// row needs it.
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { readBody } from '../../src/stores/sql/packing.ts';
import { PORTFOLIO, people, type Raw, writePeople } from './data.ts';
import { BEHIND_PROXY, peerFile, startPeer, startStaticNginx, startVitrine, vitrine } from './servers.ts';

const ITEMS_EACH = 15;
export const MOST_PORTFOLIOS = 10_000;
export const STATIC_USERS = 3000;
export const JSON_SERVER_USERS = 1000;

export type Contenders = ReturnType<typeof createContenders>;

export function createContenders(folder: string, users: number) {
  const file = (name: string) => join(folder, name);
  const input = once(async () => {
    await writePeople(file('people.ndjson'), users, ITEMS_EACH);
    return file('people.ndjson');
  });
  const database = once(async () => {
    await execute(vitrine('import', '--database-url', file('vitrine.db'), await input()));
    return file('vitrine.db');
  });
  const portfolios = once(async () => {
    const records = file('portfolios.ndjson');
    await writePeople(records, Math.min(users, MOST_PORTFOLIOS), ITEMS_EACH, PORTFOLIO);
    await execute(vitrine('import', '--database-url', file('portfolios.db'), records));
    return file('portfolios.db');
  });
  const ordinary = once(async () => {
    await execute([process.execPath, peerFile('import-by-hand'), await input(), file('ordinary.db')]);
    return file('ordinary.db');
  });
  return {
    folder,
    users,
    input,
    database,
    etags: once(async () => {
      writeFileSync(
        file('etags'),
        (await readLists(await database(), users)).map(([, etag]) => etag).join('\n'),
      );
      return file('etags');
    }),
    random: once(async () => startVitrine(await database())),
    withPages: once(async () => startVitrine(await database(), { DIRECTORY: 'on' })),
    itemPages: once(async () => writeItemPages(file('item-pages'), await database(), '/people/a/')),
    portfolios: once(async () => startVitrine(await portfolios(), { DIRECTORY: 'on' })),
    shotPages: once(async () => writeItemPages(file('shot-pages'), await portfolios(), '/people/b/')),
    behindProxy: once(async () => startVitrine(await database(), BEHIND_PROXY)),
    byHand: once(async () => startPeer('fastify-sqlite', { DATABASE: await ordinary() })),
    express: once(async () => startPeer('express-sqlite', { DATABASE: await ordinary() })),
    nginx: once(async () =>
      startStaticNginx(folder, await writeStaticFiles(file('static'), await database())),
    ),
    jsonServer: once(async () => {
      writeFileSync(file('people.json'), JSON.stringify(firstPeople(users)));
      return await startPeer('json-server', { DATABASE: file('people.json') });
    }),
  };
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

export const execute = ([program = '', ...args]: readonly string[]) => promisify(execFile)(program, args);

/** The key, the ETag, the items and the profile of the first users. */
async function readLists(database: string, users: number): Promise<[string, string, string, string][]> {
  const db = new Database(database, { readonly: true });
  const rows = db
    .prepare(
      `SELECT user_key, lists.etag, body, record FROM lists JOIN profiles USING (family, user_key)
       ORDER BY id LIMIT ?`,
    )
    .raw()
    .all(users) as [string, string, Buffer, string][];
  db.close();
  return rows.map(([key, etag, body, record]) => {
    const text = readBody(body) ?? '';
    return [key, etag, text.slice(text.indexOf('['), -1), record];
  });
}

/** Writes the address of an item's page for each user into a file. */
function writeItemPages(path: string, database: string, people: string): string {
  const db = new Database(database, { readonly: true });
  const found = db
    .prepare(
      `SELECT ? || user_key || '/' || max(items.id) FROM profiles JOIN items ON owner = profiles.id
       GROUP BY profiles.id ORDER BY profiles.id`,
    )
    .pluck()
    .all(people);
  db.close();
  writeFileSync(path, found.join('\n'));
  return path;
}

/** A file for each response. */
async function writeStaticFiles(folder: string, database: string): Promise<string> {
  for (const kind of ['items', 'profile']) mkdirSync(join(folder, kind), { recursive: true });
  for (const [key, , items, profile] of await readLists(database, STATIC_USERS)) {
    writeFileSync(join(folder, 'items', `${key}.json`), `{"posts":${items}}`);
    writeFileSync(join(folder, 'profile', `${key}.json`), profile);
  }
  return folder;
}

/** As many as json-server can hold. */
function firstPeople(users: number) {
  const [profiles, posts] = [[], []] as [Raw[], Raw[]];
  for (const record of people(users, ITEMS_EACH))
    if (Number(record.user ?? record.id) <= JSON_SERVER_USERS)
      (record.user === undefined ? profiles : posts).push(record);
  return { profiles, posts };
}
