// The same people in every form that a contender wants: Vitrine's database, ordinary tables, a JSON file, static files.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { KindName } from '../../src/records/kinds.ts';
import { openWriter } from '../../src/stores/sqlite/write.ts';
import { nameOf, people } from './data.ts';
import { ADD_POST, ADD_PROFILE, INDEXES, POST_MEMBERS, PROFILE_MEMBERS, TABLES } from './peers/queries.ts';

export const ITEMS_EACH = 15;
const VARIANT_A = { profile: 'microblog profile', item: 'post' } as const satisfies Record<string, KindName>;

export interface Size {
  /** Users with items, whose profiles come first. */
  readonly users: number;
  /** Users altogether; the rest have a profile only. */
  readonly profiles: number;
}

type Raw = Record<string, string>;

function* records({ users, profiles }: Size): Generator<Raw> {
  yield* people(users, ITEMS_EACH);
  yield* people(profiles, 0).drop(users);
}

const isItem = (record: Raw) => 'user' in record;

/** Calls back once for each form that is not there yet from an earlier run. */
function make(path: string, build: (path: string) => void): string {
  const done = `${path}.done`;
  if (!existsSync(done)) {
    build(path);
    writeFileSync(done, '');
  }
  return path;
}

/** Vitrine's database, straight through the store's writing side. */
export const vitrineDatabase = (folder: string, size: Size) =>
  make(join(folder, `vitrine-${size.users}-${size.profiles}.db`), (path) => {
    const writer = openWriter(path);
    const misfit = () => {
      throw new Error('the benches have misfits');
    };
    const load = writer.load({ replace: true, skipInvalid: false, onMisfit: misfit }) as Synchronous<
      ReturnType<typeof writer.load>
    >;
    let place = 0;
    for (const record of records(size)) {
      const { id = '', user = '', date = '', username = '' } = record;
      const what = isItem(record)
        ? { kind: VARIANT_A.item, userKey: '', owner: user, date }
        : { kind: VARIANT_A.profile, userKey: username, owner: '', date: '' };
      load.add({ ...what, id, record: JSON.stringify(record) }, place++);
    }
    load.finish();
    writer.close();
  });

type Synchronous<T> = Exclude<T, Promise<unknown>>;

/** A table for each kind, a column for each member. */
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

/** What json-server eats. */
export const jsonDatabase = (folder: string, users: number) =>
  make(join(folder, `people-${users}.json`), (path) => {
    const [profiles, posts] = [[], []] as [Raw[], Raw[]];
    for (const record of people(users, ITEMS_EACH)) (isItem(record) ? posts : profiles).push(record);
    writeFileSync(path, JSON.stringify({ profiles, posts }));
  });

/** What each of the first users' answers has to be, as text. */
export function expectedBodies(size: Size, users: number): { items: string[]; profiles: string[] } {
  const profiles: string[] = [];
  const items: string[][] = [];
  for (const record of people(size.users, ITEMS_EACH)) {
    const user = Number(isItem(record) ? record.user : record.id);
    if (user > users) continue;
    if (isItem(record)) (items[user - 1] ??= []).unshift(JSON.stringify(record));
    else profiles[user - 1] = JSON.stringify(record);
  }
  return { profiles, items: items.map((list) => `{"posts":[${list.join(',')}]}`) };
}

/** A file for each answer, as nginx sends them. */
export const staticFiles = (folder: string, { items, profiles }: ReturnType<typeof expectedBodies>) =>
  make(join(folder, `static-${items.length}`), (path) => {
    for (const [kind, bodies] of Object.entries({ items, profiles })) {
      mkdirSync(join(path, kind), { recursive: true });
      for (const [index, body] of bodies.entries())
        writeFileSync(join(path, kind, `${nameOf(index + 1)}.json`), body);
    }
  });
