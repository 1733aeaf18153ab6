// After any sequence of writes the database is one that was made anew from its records, and those are noted as changed who
// answer otherwise. Neither is compared by the program's own selections: rows are read as they are.
import Database from 'better-sqlite3';
import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { isPostgresUrl } from '../../src/config/database-url.ts';
import { importFiles } from '../../src/import/import.ts';
import { FAMILIES, type Family } from '../../src/records/kinds.ts';
import { openArchive, openWriter } from '../../src/stores/open.ts';
import type { TakedownList } from '../../src/stores/sql/takedowns.ts';
import type { Writer } from '../../src/stores/writer.ts';
import { databaseOf, newDatabase, storeName } from '../support/database.ts';
import { ndjson } from '../support/files.ts';
import { change, exported } from '../support/importing.ts';
import { blog, folio, post, shot } from '../support/records.ts';

type Row = Record<string, unknown>;

/** The rows of a statement, in either kind of store. */
async function execute(url: string, sql: string): Promise<Row[]> {
  if (!isPostgresUrl(url)) return executeInFile(url, sql);
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

function executeInFile(path: string, sql: string): Row[] {
  const db = new Database(path);
  try {
    const statement = db.prepare<[], Row>(sql);
    if (statement.reader) return statement.all();
    statement.run();
    return [];
  } finally {
    db.close();
  }
}

const lines = async (url: string, sql: string) =>
  (await execute(url, sql)).map((row) => JSON.stringify(Object.values(row).map(readable))).sort();

const readable = (value: unknown) => (Buffer.isBuffer(value) ? value.toString('hex') : String(value));

/** All that follows from the records, and the records. */
async function contents(url: string) {
  const media = await lines(url, 'SELECT url, file, linked_file, unnamed_since IS NULL FROM media');
  const read = (sql: string) => lines(url, sql);
  return {
    profiles: await read('SELECT family, id, user_key, words, etag, record, served FROM profiles'),
    items: await read('SELECT family, id, owner, date, record FROM items'),
    lists: await read('SELECT family, user_key, collection, owner, etag, body, words FROM lists'),
    words: await read('SELECT family, word, id FROM words'),
    // They are of no use before.
    names: media.length > 0 ? await read('SELECT url, kind, id, is_file FROM media_names') : [],
    media: media.map((line) =>
      line.replaceAll(/(true|1)"\]$/g, 'named"]').replaceAll(/(false|0)"\]$/g, 'unnamed"]'),
    ),
    counts: await read('SELECT kind, number FROM counts'),
  };
}

const TRUTH = ['media (url, file, linked_file)', 'copies (file, bytes, width, height, color, small)'];

/** What another database holds with the same records and copies, by one import. */
async function makeAnew(url: string) {
  const anew = await newDatabase();
  await using writer = await openWriter(anew);
  const quote = (value: unknown) => (value === null ? 'NULL' : `'${value}'`);
  for (const target of TRUTH) {
    const [, table, columns] = /^(\w+) \((.*)\)$/.exec(target) ?? [];
    for (const row of await execute(url, `SELECT ${columns} FROM ${table}`))
      await execute(anew, `INSERT INTO ${target} VALUES (${Object.values(row).map(quote)})`);
  }
  const [vitrine] = await execute(url, 'SELECT media_url FROM vitrine');
  await execute(anew, `UPDATE vitrine SET media_url = ${quote(vitrine?.media_url)}`);
  await load(
    writer,
    (await exported(url)).map((line) => JSON.parse(line)),
  );
  // Only the names of records decide it, which the import has filed.
  await execute(anew, `UPDATE media SET unnamed_since = 1 WHERE url NOT IN (SELECT url FROM media_names)`);
  return await contents(anew);
}

/** A repair notes the names of misfiled lists, also where these are equal to those that come in their place. */
const LISTS = `
  SELECT family, user_key, body, etag, CASE WHEN NOT EXISTS (
    SELECT 1 FROM profiles WHERE profiles.family = lists.family AND profiles.id = lists.owner AND profiles.user_key = lists.user_key
  ) THEN 'misfiled' END AS misfiled FROM lists ORDER BY collection`;

interface Answers {
  readonly profile: string;
  readonly list: string;
  /** What pages show beside: older items, and the sizes and colours of copies. Records as well, since another address may be of the same copy. */
  readonly others: string;
}

/** What each name answers. */
async function readAnswers(url: string): Promise<Map<string, Answers>> {
  const facts = new Map(
    (await execute(url, 'SELECT file, width, color, small FROM copies WHERE width > 0')).map((row) => [
      row.file,
      JSON.stringify(row),
    ]),
  );
  // Where a record names a copy by its own address, a page knows the copy once that is linked.
  const isLinked = `SELECT 1 FROM media WHERE url = '${OWN_ADDRESS}' AND linked_file IS NOT NULL`;
  const linked = (await execute(url, isLinked)).length > 0 ? OWN_ADDRESS : 'none';
  const served = new Map<string, string[]>();
  await using archive = await openArchive(url);
  const records = await Array.fromAsync(archive.records());
  for (const [nr, line] of (await Array.fromAsync(archive.records(true))).entries()) {
    const record = JSON.parse(line);
    const family = 'totalPost' in record || 'user' in record ? 'microblog' : 'portfolio';
    const owner = `${family} ${record.user ?? record.user_id ?? record.id}`;
    const copies = (line.match(/\d{64}\.png/g) ?? []).map((file) => facts.get(file) ?? '');
    const original = records[nr] ?? '';
    const names = original.includes(linked) ? 'linked' : '';
    served.set(owner, [...(served.get(owner) ?? []), line, original, ...copies, names]);
  }
  const lists = new Map<string, string>();
  for (const { family, user_key, body, etag, misfiled } of await execute(url, LISTS)) {
    const before = lists.get(`${family} ${user_key}`) ?? '';
    lists.set(`${family} ${user_key}`, `${before}${readable(body)}${etag} ${misfiled ?? ''}`);
  }
  const profiles = await execute(
    url,
    'SELECT family, user_key, id, etag, coalesce(served, record) AS text FROM profiles',
  );
  const answers = new Map<string, Answers>();
  // A list may be filed under a name that no profile has.
  for (const [name, list] of lists) answers.set(name, { ...NO_ANSWERS, list });
  for (const { family, user_key, id, etag, text } of profiles) {
    const name = `${family} ${user_key}`;
    answers.set(name, {
      profile: `${etag} ${text}`,
      list: lists.get(name) ?? '',
      others: (served.get(`${family} ${id}`) ?? []).join('\n'),
    });
  }
  return answers;
}

const NO_ANSWERS: Answers = { profile: '', list: '', others: '' };

/** The names with other answers, and what of them is another. */
function compareAnswers(before: Map<string, Answers>, after: Map<string, Answers>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((name) => {
    const [one, other] = [before.get(name) ?? NO_ANSWERS, after.get(name) ?? NO_ANSWERS];
    if (one.profile === other.profile && one.list === other.list && one.others === other.others) return [];
    return `${name}${one.profile !== other.profile ? ' profile' : ''}${one.list !== other.list ? ' list' : ''}`;
  });
}

async function readNoted(url: string, since: number): Promise<string[]> {
  await using archive = await openArchive(url);
  const { changes } = await archive.changes(since, { withOldItems: true });
  if (changes === 'everything') throw new Error('all is to be read again');
  return changes
    .map(
      ({ family, key, profile, list }) =>
        `${family} ${key}${profile ? ' profile' : ''}${list ? ' list' : ''}`,
    )
    .sort();
}

const readGeneration = async (url: string) =>
  Number((await execute(url, 'SELECT generation FROM vitrine'))[0]?.generation);

// Sequences of writes. Ids are shared by both families; items are older than the list at 16 a user.

const NAMES = ['ada', 'bob', 'cy', 'dot'];
const MEDIA = ['https://m.example', 'https://n.example'] as const;
const file = (digit: number) => `${String(digit).repeat(64)}.png`;
const PICTURES = ['1', '2', '3'].map((name) => `https://old.example/${name}`);
const OWN_ADDRESS = `${MEDIA[0]}/${file(1)}`;
const ADDRESSES = [...PICTURES, OWN_ADDRESS];
const MANY_ITEMS = 20;

interface Step {
  /** What happens to the data besides, before its answers are read. */
  readonly damage?: (url: string) => Promise<unknown>;
  readonly run: (writer: Writer, url: string) => Promise<unknown>;
}

const stepOf = <Value>(
  what: string,
  values: fc.Arbitrary<Value>,
  run: (value: Value, writer: Writer, url: string) => Promise<unknown>,
): fc.Arbitrary<Step> =>
  values.map((value) => ({
    run: (writer, url) => run(value, writer, url),
    [fc.toStringMethod]: () => `${what} ${fc.stringify(value)}`,
  }));

async function load(writer: Writer, records: readonly object[], replace = false): Promise<void> {
  if (records.length === 0) return;
  const stdin = (async function* () {
    yield Buffer.from(ndjson(...records));
  })();
  const options = { replace, skipInvalid: true, maxRemoved: undefined, out: { write() {} }, stdin };
  await importFiles(writer, { files: ['-'], ...options });
}

const id = fc.integer({ min: 1, max: NAMES.length });
const family = fc.constantFrom<Family>(...FAMILIES);
const picture = fc.constantFrom('', ...ADDRESSES);
const itemNr = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: MANY_ITEMS }));

/** Users of a family with their names in another order: as they were, swapped, in a ring, or handed over by one who is not there. */
const profiles = fc
  .record({
    make: fc.constantFrom(blog, folio),
    names: fc.shuffledSubarray(NAMES, { minLength: NAMES.length }),
    ids: fc.subarray([1, 2, 3, 4], { minLength: 1 }),
    isUpper: fc.boolean(),
    bio: fc.constantFrom('', 'new'),
    avatar: picture,
  })
  .map(({ make, names, ids, isUpper, ...members }) =>
    ids.map((id) => {
      const name = names[id - 1] ?? '';
      return make(id, isUpper ? name.toUpperCase() : name, members);
    }),
  );
const items = fc.array(
  fc.oneof(
    fc
      .record({ nr: itemNr, user: id, photo: picture, url_audio: picture })
      .map(({ nr, user, ...rest }) => post(nr, user, rest)),
    fc
      .record({
        nr: itemNr,
        user: id,
        image: picture,
        attachment: picture,
        tags: fc.constantFrom('', 'ink', 'ink,wood cut'),
      })
      .map(({ nr, user, ...rest }) => shot(nr, user, rest)),
  ),
  { maxLength: 6 },
);
const records = fc
  .tuple(fc.array(profiles, { maxLength: 2 }), items)
  .map(([users, works]): object[] => [...users.flat(), ...works]);
const manyItems = (make: typeof post, user: number, text: string) =>
  Array.from({ length: MANY_ITEMS }, (_, nr) =>
    make(nr + 1, user, make === post ? { post_details: text } : { title: text }),
  );

const subject = fc
  .record({ family, kind: fc.constantFrom('user' as const, 'item' as const), id })
  .map(({ family, kind, id }) => ({
    family,
    kind,
    value: kind === 'user' ? (NAMES[id - 1] ?? '') : String(id),
  }));

/** The takedowns of another database. */
async function takedownsOf(
  subjects: readonly { family: Family; kind: 'user' | 'item'; value: string }[],
): Promise<TakedownList> {
  const other = await databaseOf(blog(9, 'other'));
  await change(other, (writer) => writer.takeDown(subjects));
  await using archive = await openArchive(other);
  return await archive.takedowns();
}

/** The lists of all users have the names of others, in a ring of those that are there. */
const ROTATE_LISTS = [
  'UPDATE lists SET user_key = CAST(owner AS text)',
  `UPDATE lists SET user_key = coalesce(
     (SELECT user_key FROM profiles WHERE profiles.family = lists.family AND profiles.id = lists.owner % 4 + 1), user_key)`,
];
const DAMAGES: readonly (string | readonly string[])[] = [
  `UPDATE profiles SET etag = '"other"' WHERE id = 1`,
  `UPDATE profiles SET served = replace(record, 'a', 'b') WHERE id = 2`,
  `UPDATE lists SET etag = '"~"' WHERE owner = 1 AND collection = 'posts'`,
  `UPDATE lists SET etag = '"~"' WHERE owner = 1 AND collection = 'Posts'`,
  `UPDATE lists SET etag = '"~"' WHERE owner = 2 AND collection = 'Shots'`,
  `DELETE FROM lists WHERE owner = 3 AND collection = 'Posts'`,
  'DELETE FROM words WHERE id = 1',
  "UPDATE profiles SET words = '[]' WHERE id = 2",
  'UPDATE lists SET words = NULL WHERE owner = 1',
  `UPDATE lists SET words = '["other"]' WHERE owner = 2`,
  'DELETE FROM media_names WHERE id = 1',
  'UPDATE counts SET number = 77',
  ROTATE_LISTS,
  'UPDATE lists SET owner = owner + 10 WHERE owner = 1',
];
/** Also in portions of so few users that names are handed over between them. */
const repair: fc.Arbitrary<Step> = fc
  .record({
    damages: fc.subarray([...DAMAGES], { maxLength: 3 }),
    usersAtOnce: fc.constantFrom(1, 2, 3, undefined),
  })
  .map(({ damages, usersAtOnce }) => ({
    damage: async (url) => {
      for (const sql of damages.flat()) await execute(url, sql);
    },
    run: (writer) => writer.repair({ usersAtOnce }),
    [fc.toStringMethod]: () => `repair ${fc.stringify({ damages, usersAtOnce })}`,
  }));

const copyOf = (url: string, digit: number) =>
  digit === 0
    ? { url, file: null, bytes: 0, reason: 'gone' }
    : { url, file: file(digit), bytes: 1, reason: null };
const entries = fc
  .array(fc.tuple(fc.constantFrom(...PICTURES), fc.nat({ max: 2 })), { minLength: 1, maxLength: 3 })
  .map((saved) => saved.map(([url, digit]) => copyOf(url, digit)));
const facts = fc.record({
  file: fc.constantFrom(file(1), file(2)),
  found: fc.oneof(
    fc
      .record({ width: fc.constantFrom(100, 200), color: fc.constantFrom('aabbcc', null) })
      .map((measured) => ({ ...measured, height: 1, small: [] })),
    fc.record({ failedDecodes: fc.constantFrom(1, 3) }),
  ),
});
const link = (writer: Writer) => writer.finishFetch({ mediaUrl: MEDIA[0], files: false });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: stepOf('import', records, (value, writer) => load(writer, value)) },
  { weight: 2, arbitrary: stepOf('replace', records, (value, writer) => load(writer, value, true)) },
  stepOf('import again', fc.nat(), async (_, writer, url) =>
    load(
      writer,
      (await exported(url)).map((line) => JSON.parse(line)),
    ),
  ),
  stepOf(
    'many items',
    fc.record({ id, make: fc.constantFrom(post, shot), text: fc.constantFrom('', 'x') }),
    ({ id, make, text }, writer) => load(writer, manyItems(make, id, text)),
  ),
  stepOf('remove', fc.record({ family, id }), ({ family, id }, writer) =>
    writer.remove(family, NAMES[id - 1] ?? ''),
  ),
  stepOf('take down', fc.array(subject, { minLength: 1, maxLength: 2 }), (value, writer) =>
    writer.takeDown(value, { keepNames: true }),
  ),
  stepOf('adopt takedowns', fc.array(subject, { minLength: 1, maxLength: 2 }), async (value, writer) =>
    writer.adoptTakedowns(await takedownsOf(value), { keepNames: true }),
  ),
  stepOf('undo takedowns', fc.array(subject, { minLength: 1, maxLength: 4 }), (value, writer) =>
    writer.undoTakedowns(value),
  ),
  {
    weight: 2,
    arbitrary: stepOf('save copies', entries, async (value, writer, url) => {
      await using archive = await openArchive(url);
      const mark = await archive.takedownsMark();
      await archive.close();
      await writer.saveOriginals(value, mark);
      await link(writer);
    }),
  },
  stepOf('measure', facts, async ({ file, found }, writer) => {
    await writer.saveFacts(file, found);
    await link(writer);
  }),
  stepOf('other address of copies', fc.constantFrom(...MEDIA), (value, writer) => writer.relink(value)),
  stepOf('prune', fc.nat(), (_, writer) => writer.pruneCopies(0)),
  stepOf('clean up', fc.nat(), (_, writer) => writer.cleanUp(() => {})),
  { weight: 2, arbitrary: repair },
);

async function runSteps(steps: readonly Step[]): Promise<void> {
  const url = await databaseOf(blog(1, 'ada'), folio(1, 'ada'));
  await using writer = await openWriter(url);
  for (const { damage, run } of steps) {
    await damage?.(url);
    const [before, since] = [await readAnswers(url), await readGeneration(url)];
    await run(writer, url);
    expect(await readNoted(url, since)).toEqual(compareAnswers(before, await readAnswers(url)));
  }
  expect(await contents(url)).toEqual(await makeAnew(url));
}

const RUNS = storeName() === 'SQLite' ? 25 : 8;

describe(`sequences of writes in ${storeName()}`, () => {
  test('leave what one import of the records would, and note who answers otherwise', async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), runSteps);
    await fc.assert(property, { numRuns: RUNS });
  });

  test('also where names go round a ring of three, are swapped and are handed over', async () => {
    const importing = (...records: object[]): Step => ({ run: (writer) => load(writer, records) });
    await runSteps([
      importing(
        blog(1, 'ada'),
        blog(2, 'bob'),
        blog(3, 'cy'),
        folio(2, 'bob'),
        post(1, 1),
        post(2, 2),
        shot(1, 2),
      ),
      importing(blog(1, 'bob'), blog(2, 'cy'), blog(3, 'ada')),
      importing(folio(1, 'bob'), folio(2, 'ada')),
      importing(blog(1, 'dot'), blog(4, 'bob')),
    ]);
  });

  test.each([1, 2, 3])(
    'also where a repair finds their lists in a ring, %i users at a time',
    async (usersAtOnce) => {
      const users = NAMES.flatMap((name, nr) => [blog(nr + 1, name), folio(nr + 1, name)]);
      await runSteps([
        { run: (writer) => load(writer, [...users, post(1, 1), post(2, 2), shot(1, 3), shot(2, 4)]) },
        {
          damage: async (url) => {
            for (const sql of ROTATE_LISTS) await execute(url, sql);
          },
          run: (writer) => writer.repair({ usersAtOnce }),
        },
      ]);
    },
  );
});
