// The reading side of PostgreSQL: each lookup is one statement that returns the data's generation, an ETag and a text.

import type pg from 'pg';
import { type Family, findKind } from '../../records/kinds.ts';
import { takedownKey } from '../../records/user-name.ts';
import {
  type Answer,
  type Counts,
  type ItemSize,
  importTime,
  MOST_BYTES,
  type Reader,
  type ShotEntry,
  type StoreListener,
  type UserEntry,
} from '../reader.ts';
import { type Archive, createArchive } from '../sql/archive.ts';
import { countsFrom } from '../sql/counts.ts';
import {
  forEachSide,
  NEWEST_COLUMNS,
  perFamily,
  type Side,
  selectHistory,
  selectItem,
} from '../sql/history-statements.ts';
import {
  type FactsRow,
  factsByFile,
  SERVED_PROFILE,
  servedAddress,
  servedRecord,
} from '../sql/media-statements.ts';
import { answerWith, unpackedSize } from '../sql/packing.ts';
import type { TextRow } from '../sql/sql-adapter.ts';
import { LAST, selectFound } from '../sql/word-statements.ts';
import { openSnapshot } from './connect.ts';
import { member, sqlAdapter } from './dialect.ts';
import { toStoreError } from './errors.ts';
import { type Hosts, openHosts } from './hosts.ts';

// $3: what the client knows. If it has the text, that is neither read nor sent.
const PROFILE = {
  name: 'profile',
  text: `SELECT generation, etag, CASE WHEN strpos($3, etag) = 0 THEN convert_to(${SERVED_PROFILE}, 'UTF8') END, false
    FROM vitrine LEFT JOIN profiles ON family = $1 AND user_key = $2`,
};
const IS_PACKED = String.raw`substr(body, 1, 1) = '\x1f'`;
const ITEMS = {
  name: 'items',
  text: `SELECT generation, etag, CASE WHEN strpos($3, etag) = 0 THEN body END, ${IS_PACKED}
    FROM vitrine LEFT JOIN lists ON family = $1 AND user_key = $2 AND collection = $4`,
};
/** A query for one value, and with it the generation. */
const select = (name: string, value: string) => ({
  name,
  text: `SELECT generation, (${value}) FROM vitrine`,
});
// An index scan for each salt, whatever the planner knows of the tables.
const TAKEN_DOWN = select(
  'taken_down',
  `SELECT bool_or(EXISTS (SELECT 1 FROM takedowns
     WHERE hash = takedown_hash(salt, $1, 'name', $2)))
   FROM takedown_salts`,
);
const LAST_RUN = select('last run', 'last_run');
const COUNTS = select('counts', 'SELECT json_object_agg(kind, number) FROM counts');
const MEDIA_URL = select('media url', 'media_url');
const PICTURES = select(
  'pictures',
  `SELECT json_agg(found) FROM (
     SELECT file, width, height, color, small FROM copies
     WHERE file = ANY($1::text[]) AND width IS NOT NULL) AS found`,
);
const FIRST_USERS = select(
  'first users',
  `SELECT json_agg(username ORDER BY id) FROM (
     SELECT id, record::json ->> 'username' AS username FROM profiles WHERE family = $1 ORDER BY id LIMIT $2) AS first`,
);
/** The users of profiles that were found, in an order; each text is parsed once. */
const selectUsers = (name: string, found: string, order: string) =>
  select(
    name,
    `SELECT json_agg(page) FROM (
       SELECT key, username, etag, left(name, 300) AS name, left(bio, 300) AS bio, avatar
       FROM (SELECT user_key AS key, etag, ${SERVED_PROFILE} AS text, ${found}) AS found
       CROSS JOIN json_to_record(text::json) AS entry (username text, name text, bio text, avatar text)
       ORDER BY ${order}) AS page`,
  );
/** Names that are left out are counted in the index of names. Their profiles would take ten times as long. */
const usersBy = (isIn: string, order: string) =>
  selectUsers(
    `users ${order}`,
    `id FROM (
       SELECT user_key AS listed FROM profiles WHERE family = $1 AND user_key ${isIn} $2
       ORDER BY user_key ${order} LIMIT $3 OFFSET $4) AS names
     CROSS JOIN LATERAL (SELECT * FROM profiles WHERE family = $1 AND user_key = listed LIMIT 1) AS profiles`,
    `key ${order}`,
  );
const USERS = usersBy('>', 'ASC');
const USERS_BEFORE = usersBy('<=', 'DESC');
const SEARCH = selectUsers(
  'search',
  `word, profiles.id FROM (${selectFound(['$1', '$2', '$3', '$4'])}) AS alike CROSS JOIN profiles
   WHERE profiles.family = $1 AND profiles.id = alike.id`,
  'word, id',
);
const NEWEST_SHOTS = select(
  'newest shots',
  `SELECT json_agg(page) FROM (
     SELECT user_key AS key, shot.id, left(title, 300) AS title,
       ${servedAddress('image')} AS image, ${servedAddress('large_image')} AS large_image
     FROM profiles CROSS JOIN LATERAL (
       SELECT id AS number, date, record FROM items WHERE items.family = 'portfolio' AND owner = profiles.id
       ORDER BY date DESC, id DESC LIMIT $2) AS newest
     CROSS JOIN json_to_record(newest.record::json) AS shot (id text, title text, image text, large_image text)
     WHERE profiles.family = 'portfolio' AND user_key = ANY($1::text[])
     ORDER BY date DESC, number DESC) AS page`,
);
const NEWEST = {
  name: 'newest',
  text: `SELECT generation, profiles.etag, ${SERVED_PROFILE}, lists.etag, ${NEWEST_COLUMNS}
    FROM vitrine LEFT JOIN (profiles JOIN lists USING (family, user_key))
      ON family = $1 AND user_key = $2 AND collection = $3`,
};
type NewestRow = [
  etag: string,
  profile: string,
  listEtag: string,
  list: string | null,
  hasMore: string,
  hasCopies: string,
];

/** A line for each item: its id, and its record if that fits. As JSON, a text full of quotes would cost twice as much. */
const historyQuery = (family: Family) => ({
  name: `history of ${family}`,
  text: `SELECT generation, etag, ${SERVED_PROFILE}, (
      SELECT string_agg(id || ' ' || CASE WHEN bytes > ${MOST_BYTES} THEN '' WHEN media_url IS NULL THEN record
        ELSE ${servedRecord(findKind(family, 'item'), member)} END, E'\\n')
      FROM (
        SELECT id, record, sum(octet_length(record)) OVER (ORDER BY date DESC, id DESC) AS bytes
        FROM (${selectHistory(family, 'older', 'items.id, items.date, record')}) AS found) AS part)
    FROM vitrine LEFT JOIN profiles ON family = '${family}' AND user_key = $1`,
});
/** The lines are null where the user has no items. */
type HistoryRow = [etag: string, profile: string, items: string | null];

const itemQuery = (family: Family) => ({
  name: `item of ${family}`,
  text: `SELECT generation, etag, profile, record, older, newer
    FROM vitrine LEFT JOIN (${selectItem(family, { member, bytes: (text) => text })}) AS found ON true`,
});
type ItemRow = [etag: string, profile: string, record: string, older: string | null, newer: string | null];

const sizesQuery = (family: Family, side: Side) =>
  select(
    `${side} sizes of ${family}`,
    `SELECT json_agg(page) FROM (
       ${selectHistory(family, side, 'items.id::text AS id, octet_length(record) AS bytes')}) AS page`,
  );
const HISTORIES = perFamily(historyQuery);
const ITEM_OF = perFamily(itemQuery);
const SIZES = forEachSide(sizesQuery);

/** Opens the data for serving. Before the first import has committed, it is not there: no client gets "unknown user". */
export async function openServed(url: string, observe: StoreListener): Promise<Reader> {
  const hosts = await openHosts(url, observe);
  const reader = createReader(hosts, async (query) => {
    const row = await hosts.read(query);
    if (hosts.newest() === 0) throw hosts.refusal();
    return row;
  });
  // While no host answers, a server says what it knew last. A command must fail.
  return { ...reader, counts: keepLast(async () => await reader.counts()) };
}

/** A command waits for tables that are locked: it has no client that would ask again. */
const COMMAND_MS = 60_000;

/** Opens a database for a few lookups; it may be empty. */
export async function openReader(url: string): Promise<Reader> {
  const hosts = await openHosts(url, () => {}, { waitMs: COMMAND_MS });
  return createReader(hosts, hosts.read);
}

type QueryValue = string | number | readonly string[];

function splitItems(lines: string) {
  const found = lines.split('\n').filter(Boolean).map(splitLine);
  return {
    items: found.filter((item) => item.record !== ''),
    next: found.find((item) => item.record === '')?.id,
  };
}

function createReader(hosts: Hosts, read: Hosts['read']): Reader {
  const queries = createQueries(read);
  const { readValue, readJson } = queries;

  async function find(query: pg.QueryConfig, gzip: boolean): Promise<Answer | undefined> {
    const [, etag, hex, isPacked] = await read(query);
    if (etag == null) return undefined;
    return answerWith(etag, hex == null ? null : fromHex(hex), isPacked === 't', gzip);
  }

  return {
    ...createUserLists(queries),
    ...createItemLists(queries),
    version: hosts.newest,
    lastImport: () => importTime(hosts.newest()),
    lastImportRun: async () => importTime(Number(await readValue(LAST_RUN))),
    hosts: hosts.states,
    profile: (family, userKey, { known = '' } = {}) =>
      find({ ...PROFILE, values: [family, userKey, known] }, false),
    items: (family, userKey, collection, { known = '', gzip = false } = {}) =>
      find({ ...ITEMS, values: [family, userKey, known, collection] }, gzip),
    isTakenDown: async (family, userKey) =>
      (await readValue(TAKEN_DOWN, family, takedownKey(userKey))) === 't',
    mediaUrl: async () => (await readValue(MEDIA_URL)) ?? undefined,
    pictures: async (files) => factsByFile(await readJson<FactsRow[]>(PICTURES, files)),
    counts: async () => countsFrom(Object.entries(await readJson<Counts>(COUNTS))),
    warning: hosts.warning,
    fault: hosts.fault,
    close: hosts.close,
  };
}

/** Bytes, as PostgreSQL writes them: \x00ff. */
const fromHex = (text: string) => Buffer.from(text.slice(2), 'hex');

type Queries = ReturnType<typeof createQueries>;

/** Reads rows, values and JSON. The caller names the type that its query selects. */
function createQueries(read: Hosts['read']) {
  const readValue = async (query: pg.QueryConfig, ...values: QueryValue[]) =>
    (await read({ ...query, values }))[1];
  return {
    readValue,
    async readJson<Value>(query: pg.QueryConfig, ...values: QueryValue[]): Promise<Value> {
      return JSON.parse((await readValue(query, ...values)) ?? '[]');
    },
    /** The columns behind the generation; undefined where nothing is found, which leaves all of them empty. */
    async readRow<Row extends TextRow>(
      query: pg.QueryConfig,
      ...values: QueryValue[]
    ): Promise<Row | undefined> {
      const [, ...columns] = await read({ ...query, values });
      // The caller names the columns that its query selects.
      return columns[0] == null ? undefined : (columns as Row);
    },
  };
}

type UserLists = Pick<Reader, 'firstUsers' | 'users' | 'search' | 'newestShots'>;

const createUserLists = ({ readJson }: Queries): UserLists => ({
  firstUsers: (family, count) => readJson<string[]>(FIRST_USERS, family, count),
  users: (family, { after = '', upTo, skip = 0, limit }) =>
    readJson<UserEntry[]>(upTo === undefined ? USERS : USERS_BEFORE, family, upTo ?? after, limit, skip),
  search: (family, key, limit) => readJson<UserEntry[]>(SEARCH, family, key, key + LAST, limit),
  newestShots: (userKeys, each) => readJson<ShotEntry[]>(NEWEST_SHOTS, userKeys, each),
});

type ItemLists = Pick<Reader, 'newest' | 'item' | 'history' | 'historySizes'>;

/** The items of a user, each time with the profile. */
const createItemLists = ({ readRow, readJson }: Queries): ItemLists => ({
  async newest(family, userKey, collection) {
    const row = await readRow<NewestRow>(NEWEST, family, userKey, collection);
    if (row === undefined) return undefined;
    const [etag, profile, listEtag, hex, hasMore, hasCopies] = row;
    const list = hex === null ? null : fromHex(hex);
    return {
      profile: { etag, body: Buffer.from(profile) },
      list: { etag: listEtag, body: list && unpackedSize(list) <= MOST_BYTES ? list : null },
      hasMore: hasMore === 't',
      hasCopies: hasCopies === 't',
    };
  },
  async item(family, userKey, id) {
    const row = await readRow<ItemRow>(ITEM_OF[family], userKey, id);
    if (row === undefined) return undefined;
    const [etag, text, record, older, newer] = row;
    const profile = { etag, body: Buffer.from(text) };
    return { profile, record, older: older ?? undefined, newer: newer ?? undefined };
  },
  async history(family, userKey, { from = '', limit, skip = 0 }) {
    const row = await readRow<HistoryRow>(HISTORIES[family], userKey, from, limit, skip);
    if (row === undefined) return undefined;
    const [etag, profile, items] = row;
    return { profile: { etag, body: Buffer.from(profile) }, ...splitItems(items ?? '') };
  },
  historySizes: (family, userKey, { from = '', limit, skip = 0, side = 'older' }) =>
    readJson<ItemSize[]>(SIZES[family][side], userKey, from, limit, skip),
});

/** Where it fails, what it returned last. The first time must succeed. */
function keepLast<T>(read: () => Promise<T>): () => Promise<T> {
  let last: T | undefined;
  return async () => {
    try {
      last = await read();
      return last;
    } catch (error) {
      if (last === undefined) throw error;
      return last;
    }
  };
}

function splitLine(line: string) {
  const end = line.indexOf(' ');
  return { id: line.slice(0, end), record: line.slice(end + 1) };
}

export async function openArchive(url: string): Promise<Archive> {
  const { client, name } = await openSnapshot(url);
  return createArchive(sqlAdapter(client), {
    toStoreError: (error) => toStoreError(name, error),
    close: () => client.end(),
  });
}
