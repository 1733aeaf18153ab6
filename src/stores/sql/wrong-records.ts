// Whether each record is what its row says it is, for `vitrine check`. The program parses each text once: in SQL, PostgreSQL
// parses it again for each member, which takes five times as much CPU.
import {
  type Family,
  findKind,
  KINDS,
  type KindName,
  perKind,
  type RecordKind,
} from '../../records/kinds.ts';
import { MEMBERS } from '../../records/schemas.ts';
import type { Rows } from './sql-adapter.ts';

/** Misfiled: the text is damaged, or the row has other values than it. A migration may not have brought a new field to a text. */
type RecordFault = 'misfiled' | 'other fields';

interface WrongRecord {
  readonly family: Family;
  /** The key of a user's name, or the id of an item. */
  readonly name: string;
  readonly fault: RecordFault;
}

type Item = [family: Family, id: string, owner: string, date: string, record: string];
type Profile = [family: Family, id: string, userKey: string, record: string];

export async function* findWrongRecords(db: Rows): AsyncGenerator<WrongRecord> {
  const items = 'SELECT family, CAST(id AS text), CAST(owner AS text), date, record FROM items';
  for await (const [family, id, owner, date, record] of db.rows<Item>(items)) {
    const kind = findKind(family, 'item');
    const fault = findFault(kind, record, { id, date, [OWNERS[kind]]: owner });
    if (fault !== undefined) yield { family, name: id, fault };
  }
  const profiles = 'SELECT family, CAST(id AS text), user_key, record FROM profiles';
  for await (const [family, id, userKey, record] of db.rows<Profile>(profiles)) {
    const fault = findFault(findKind(family, 'profile'), record, { id });
    if (fault !== undefined) yield { family, name: userKey, fault };
  }
}

type Members = Readonly<Record<string, string>>;

/** The members with the id of the owner. */
const OWNERS = perKind((kind): string => {
  const { owner }: RecordKind = KINDS[kind];
  return owner ?? '';
});
const FIELDS = perKind((kind) => Object.keys(MEMBERS[kind]).join());

function findFault(kind: KindName, text: string, columns: Members): RecordFault | undefined {
  const members = parseRecord(text);
  for (const name in columns) if (members[name] !== columns[name]) return 'misfiled';
  return Object.keys(members).join() === FIELDS[kind] ? undefined : 'other fields';
}

/** A damaged text has no members. */
export function parseRecord(text: string): Members {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
