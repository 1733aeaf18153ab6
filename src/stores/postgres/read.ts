// The reading side of PostgreSQL: each lookup is one statement that returns the data's generation, an ETag and a text.
import type pg from 'pg';
import type { Family } from '../../records/kinds.ts';
import { takedownKey } from '../../records/user-name.ts';
import { type Archive, createArchive } from '../archive.ts';
import { countOnce } from '../counts.ts';
import { selectHistory } from '../history-statements.ts';
import { type Gzip, gzipList, gzipText } from '../packing.ts';
import { type Answer, type Counts, importTime, type Reader, type StoreListener } from '../reader.ts';
import { openSnapshot } from './connect.ts';
import { member, storeConnection, type TextRow } from './dialect.ts';
import { toStoreError } from './errors.ts';
import { type Hosts, openHosts } from './hosts.ts';

// $3: what the client knows. If it has the text, that is neither read nor sent. $4: whether the packed text is wanted.
const lookup = (name: string, table: string, text: string) => ({
  name,
  text: `SELECT generation, etag,
      CASE WHEN strpos($3, etag) = 0 AND ($4 AND packed IS NOT NULL) IS NOT TRUE THEN ${text} END,
      CASE WHEN strpos($3, etag) = 0 AND $4 THEN packed END, $4 AND packed IS NOT NULL
    FROM vitrine LEFT JOIN ${table} ON family = $1 AND user_key = $2`,
});
const PROFILE = lookup('profile', 'profiles', 'coalesce(served, record)');
const ITEMS = lookup('items', 'lists', `'{"' || $5::text || '":' || items || '}'`);
const PERSON = {
  name: 'person',
  text: `SELECT generation,
      profiles.etag, CASE WHEN strpos($3, profiles.etag) = 0 THEN coalesce(served, record) END,
      lists.etag, CASE WHEN strpos($3, lists.etag) = 0 THEN '{"' || $4::text || '":' || items || '}' END
    FROM vitrine LEFT JOIN (profiles JOIN lists USING (family, user_key)) ON family = $1 AND user_key = $2`,
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
const MEDIA_URL = select('media url', 'media_url');
const FIRST_USERS = select(
  'first users',
  `SELECT json_agg(username ORDER BY id) FROM (
     SELECT id, record::json ->> 'username' AS username FROM profiles WHERE family = $1 ORDER BY id LIMIT $2) AS first`,
);
const USERS = select(
  'users',
  `SELECT json_agg(page ORDER BY key) FROM (
     SELECT user_key AS key, record::json ->> 'username' AS username, coalesce(served, record) AS profile FROM profiles
     WHERE family = $1 AND user_key > $2 ORDER BY user_key LIMIT $3 OFFSET $4) AS page`,
);
const historyQuery = (family: Family) => ({
  name: `history of ${family}`,
  text: `SELECT generation, etag, coalesce(served, record), (
      SELECT json_agg(record) FROM (${selectHistory(family, member)}) AS page (record))
    FROM vitrine LEFT JOIN profiles ON family = '${family}' AND user_key = $1`,
});
const HISTORIES = { microblog: historyQuery('microblog'), portfolio: historyQuery('portfolio') };

/** Opens the data for serving. Before the first import has committed, it is not there: nobody is told "unknown user". */
export async function openServed(url: string, observe: StoreListener): Promise<Reader> {
  const hosts = await openHosts(url, observe);
  return createReader(url, hosts, async (query) => {
    const row = await hosts.read(query);
    if (hosts.newest() === 0) throw hosts.refusal();
    return row;
  });
}

/** Opens a database for a few lookups; it may be empty. */
export async function openReader(url: string): Promise<Reader> {
  const hosts = await openHosts(url, () => {});
  return createReader(url, hosts, hosts.read);
}

function createReader(url: string, hosts: Hosts, read: Hosts['read']): Reader {
  async function find(query: pg.QueryConfig, gzip: Gzip): Promise<Answer | undefined> {
    const [, etag, text, packed, isPacked] = await read(query);
    if (isPacked !== 't' || etag == null) return createAnswer(etag, text);
    return { etag, body: packed == null ? null : gzip(Buffer.from(packed.slice(2), 'hex')), isGzip: true };
  }

  const readValue = async (query: pg.QueryConfig, ...values: (string | number)[]) =>
    (await read({ ...query, values }))[1];
  const readJson = async (query: pg.QueryConfig, ...values: (string | number)[]) =>
    JSON.parse((await readValue(query, ...values)) ?? '[]');

  return {
    version: hosts.newest,
    lastImport: () => importTime(hosts.newest()),
    lastImportRun: () =>
      readValue(LAST_RUN).then(
        (lastRun) => importTime(Number(lastRun)),
        () => undefined,
      ),
    hosts: hosts.states,
    profile: (family, userKey, { known = '', gzip = false } = {}) =>
      find({ ...PROFILE, values: [family, userKey, known, gzip] }, gzipText),
    items: (family, userKey, collection, { known = '', gzip = false } = {}) =>
      find({ ...ITEMS, values: [family, userKey, known, gzip, collection] }, gzipList(collection)),
    async person(family, userKey, collection, known = '') {
      const values = [family, userKey, known, collection];
      const [, etag, record, listEtag, items] = await read({ ...PERSON, values });
      const [own, list] = [createAnswer(etag, record), createAnswer(listEtag, items)];
      return own && list && [own, list];
    },
    isTakenDown: async (family, userKey) =>
      (await readValue(TAKEN_DOWN, family, takedownKey(userKey))) === 't',
    mediaUrl: async () => (await readValue(MEDIA_URL)) ?? undefined,
    firstUsers: (family, count) => readJson(FIRST_USERS, family, count),
    users: (family, { after = '', skip = 0, limit }) => readJson(USERS, family, after, limit, skip),
    async history(family, userKey, { from = '', limit }) {
      const [, etag, record, items] = await read({ ...HISTORIES[family], values: [userKey, from, limit] });
      const profile = createAnswer(etag, record);
      return profile && { profile, records: JSON.parse(items ?? '[]') };
    },
    counts: countOnce(hosts.newest, () => count(url)),
    warning: hosts.warning,
    fault: hosts.fault,
    close: hosts.close,
  };
}

function createAnswer(etag: TextRow[0] | undefined, body: TextRow[0] | undefined): Answer | undefined {
  return etag == null ? undefined : { etag, body: body == null ? null : Buffer.from(body) };
}

/** Opens a database to read everything in it. */
export async function openArchive(url: string): Promise<Archive> {
  const { client, name } = await openSnapshot(url);
  return createArchive(storeConnection(client), {
    toStoreError: (error) => toStoreError(name, error),
    close: () => client.end(),
  });
}

async function count(url: string): Promise<Counts> {
  const archive = await openArchive(url);
  return await archive.counts().finally(archive.close);
}
