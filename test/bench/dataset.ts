// The same users in the form that each contender wants: Vitrine's database, ordinary tables, a JSON file, static files.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Row } from '../../src/records/row.ts';
import { openWriter } from '../../src/stores/sqlite/write.ts';
import { nameOf, people } from './data.ts';
import { ADD_POST, ADD_PROFILE, INDEXES, POST_MEMBERS, PROFILE_MEMBERS, TABLES } from './peers/queries.ts';

export const ITEMS_EACH = 15;

export interface Size {
  /** Users with items; their profiles come first. */
  readonly users: number;
  /** All users; the others have a profile only. */
  readonly profiles: number;
}

type Raw = Record<string, string>;

function* records({ users, profiles }: Size): Generator<Raw> {
  yield* people(users, ITEMS_EACH);
  yield* people(profiles, 0).drop(users);
}

const isItem = (record: Raw) => 'user' in record;

/** Makes a file or folder, unless an earlier run has made it. */
async function make(path: string, build: (path: string) => void | Promise<void>): Promise<string> {
  const done = `${path}.done`;
  if (!existsSync(done)) {
    await build(path);
    writeFileSync(done, '');
  }
  return path;
}

/** Vitrine's database, filled through the store. */
export const vitrineDatabase = (folder: string, size: Size) =>
  make(join(folder, `vitrine-${size.users}-${size.profiles}.db`), async (path) => {
    const writer = openWriter(path);
    const onMisfit = () => {
      throw new Error('a generated record does not fit the others');
    };
    const load = await writer.load({ replace: true, skipInvalid: false, onMisfit });
    let place = 0;
    for (const record of records(size)) await load.add(rowOf(record), place++);
    await load.finish();
    await writer.close();
  });

function rowOf(raw: Raw): Row {
  const { id = '', user = '', date = '', username = '' } = raw;
  const record = JSON.stringify(raw);
  return isItem(raw)
    ? { kind: 'post', id, userKey: '', owner: user, date, record }
    : { kind: 'microblog profile', id, userKey: username, owner: '', date: '', record };
}

/** A file with the ETag of each user's items, one a line. */
export const etagsFile = (database: string) =>
  make(`${database}.etags`, (path) => {
    const db = new Database(database, { readonly: true });
    const etags = db
      .prepare("SELECT etag FROM lists WHERE family = 'microblog' ORDER BY owner")
      .pluck()
      .all();
    writeFileSync(path, etags.join('\n'));
    db.close();
  });

/** A table for each kind of record, and a column for each member. */
export const ordinaryDatabase = (folder: string, size: Size) =>
  make(join(folder, `ordinary-${size.users}-${size.profiles}.db`), (path) => {
    const db = new Database(path);
    db.exec(`PRAGMA journal_mode = WAL; ${TABLES}; BEGIN`);
    const post = db.prepare(ADD_POST);
    const profile = db.prepare(ADD_PROFILE);
    for (const record of records(size)) {
      if (isItem(record)) post.run(POST_MEMBERS.map((member) => record[member]));
      else profile.run(PROFILE_MEMBERS.map((member) => record[member]));
    }
    db.exec(`COMMIT; ${INDEXES}; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)`);
    db.close();
  });

/** The file that json-server reads. */
export const jsonDatabase = (folder: string, users: number) =>
  make(join(folder, `people-${users}.json`), (path) => {
    const [profiles, posts] = [[], []] as [Raw[], Raw[]];
    for (const record of people(users, ITEMS_EACH)) (isItem(record) ? posts : profiles).push(record);
    writeFileSync(path, JSON.stringify({ profiles, posts }));
  });

/** The bodies that the first of so many users must get. */
export interface Bodies {
  readonly items: readonly string[];
  readonly profile: readonly string[];
}

export function expectedBodies(users: number, first: number): Bodies {
  const profile: string[] = [];
  const items: string[][] = [];
  for (const record of people(users, ITEMS_EACH)) {
    const user = Number(isItem(record) ? record.user : record.id);
    if (user > first) continue;
    if (isItem(record)) (items[user - 1] ??= []).unshift(JSON.stringify(record));
    else profile[user - 1] = JSON.stringify(record);
  }
  return { profile, items: items.map((list) => `{"posts":[${list.join(',')}]}`) };
}

/** A file for each response, for nginx. */
export const staticFiles = (folder: string, { items, profile }: Bodies) =>
  make(join(folder, `static-${items.length}`), (path) => {
    for (const [kind, bodies] of Object.entries({ items, profile })) {
      mkdirSync(join(path, kind), { recursive: true });
      for (const [index, body] of bodies.entries())
        writeFileSync(join(path, kind, `${nameOf(index + 1)}.json`), body);
    }
  });
