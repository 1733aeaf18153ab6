// Where an import's rows wait: as bytes, twice, by the order in which they will lie and by their ids.
import { FAMILIES, type Family, KINDS } from '../records/kinds.ts';
import type { Row } from '../records/row.ts';
import { createSorter, type Entry, type Sorter } from './sorter.ts';

/** The rows of one table. A row's number is how many of the table came before it. */
export interface Pile {
  /** family, then for an item owner, date and id, the latter two reversed; for a profile the start of its user key. */
  readonly rows: Sorter;
  /** family, id. */
  readonly ids: Sorter;
  /** Whether an id may be there twice. */
  mayRepeat(): boolean;
}

export interface Staging {
  readonly profiles: Pile;
  readonly items: Pile;
  readonly families: ReadonlySet<Family>;
  readonly fileName: () => string;
  add(row: Row, place: number): void;
  close(): void;
}

// Little of it is touched by a small import, and all of it stays well below what a small container has.
const MEMORY = { items: 8 << 20, profiles: 2 << 20, ids: 1 << 20 };
const KEY_START = 24;
const BYTES_OF = { profile: 1 + KEY_START, item: 1 + 8 + 6 + 8, id: 1 + 8 };
const UTF8_LONGEST = 3;

export function createStaging(fileName: () => string): Staging {
  const profiles = createPile(BYTES_OF.profile, MEMORY.profiles, fileName);
  const items = createPile(BYTES_OF.item, MEMORY.items, fileName);
  const families = new Set<Family>();

  return {
    profiles,
    items,
    families,
    fileName,
    add(row, place) {
      families.add(KINDS[row.kind].family);
      if ('owner' in KINDS[row.kind]) addItem(items, row, place);
      else addProfile(profiles, row, place);
    },
    close() {
      for (const { rows, ids } of [profiles, items]) {
        rows.close();
        ids.close();
      }
    },
  };
}

function createPile(keyBytes: number, memory: number, fileName: () => string) {
  const rows = createSorter({ keyBytes, memory, fileName });
  const ids = createSorter({ keyBytes: BYTES_OF.id, memory: MEMORY.ids, fileName });
  const last = new Map<number, number | bigint>();
  let ascending = true;

  return {
    rows,
    ids,
    mayRepeat: () => !ascending,
    noteId(family: number, id: number | bigint) {
      if (ascending && id <= (last.get(family) ?? 0)) ascending = false;
      last.set(family, id);
    },
  };
}

type OpenPile = ReturnType<typeof createPile>;

function addItem({ rows, ids, noteId }: OpenPile, row: Row, place: number): void {
  const family = FAMILIES.indexOf(KINDS[row.kind].family);
  const [owner, id, date] = [toId(row.owner), toId(row.id), digitsOf(row.date)];
  noteId(family, id);
  const number = rows.count();

  const entry = rows.begin(BYTES_OF.item + 12 + row.record.length * UTF8_LONGEST);
  const { bytes, at } = entry;
  bytes[at] = family;
  writeId(bytes, at + 1, owner);
  writeDate(bytes, at + 9, LAST_DATE - date);
  writeId(bytes, at + 15, id);
  for (let i = at + 15; i < at + 23; i++) bytes[i] = ~(bytes[i] as number);
  bytes.writeUInt32LE(number, at + 23);
  bytes.writeDoubleLE(place, at + 27);
  entry.end = at + 35 + bytes.write(row.record, at + 35);
  rows.take();

  const key = ids.begin(BYTES_OF.id + 18);
  key.bytes[key.at] = family;
  writeId(key.bytes, key.at + 1, id);
  key.bytes.writeUInt32LE(number, key.at + 9);
  writeId(key.bytes, key.at + 13, owner);
  writeDate(key.bytes, key.at + 21, date);
  key.end = key.at + 27;
  ids.take();
}

/** What an entry of the items' rows says. */
export const itemRow = {
  family: ({ bytes, at }: Entry) => FAMILIES[bytes[at] as number] as Family,
  owner: ({ bytes, at }: Entry) => readId(bytes, at + 1),
  date: ({ bytes, at }: Entry) => LAST_DATE - readDate(bytes, at + 9),
  id({ bytes, at }: Entry): number | bigint {
    const high = ~bytes.readInt32BE(at + 15);
    const low = ~bytes.readInt32BE(at + 19) >>> 0;
    return joined(high, low);
  },
  number: ({ bytes, at }: Entry) => bytes.readUInt32LE(at + 23),
  origin: ({ bytes, at }: Entry) => bytes.readDoubleLE(at + 27),
  /** The record is the rest. */
  recordAt: ({ at }: Entry) => at + 35,
};

/** What an entry of either pile's ids says. */
export const idKey = {
  family: ({ bytes, at }: Entry) => FAMILIES[bytes[at] as number] as Family,
  id: ({ bytes, at }: Entry) => readId(bytes, at + 1),
  number: ({ bytes, at }: Entry) => bytes.readUInt32LE(at + 9),
  owner: ({ bytes, at }: Entry) => readId(bytes, at + 13),
  date: ({ bytes, at }: Entry) => readDate(bytes, at + 21),
  userKey: ({ bytes, at, end }: Entry) => bytes.toString('utf8', at + 13, end),
};

function addProfile({ rows, ids, noteId }: OpenPile, row: Row, place: number): void {
  const family = FAMILIES.indexOf(KINDS[row.kind].family);
  const id = toId(row.id);
  noteId(family, id);
  const number = rows.count();
  const keyLongest = row.userKey.length * UTF8_LONGEST;

  const entry = rows.begin(BYTES_OF.profile + 22 + keyLongest + row.record.length * UTF8_LONGEST);
  const { bytes, at } = entry;
  bytes[at] = family;
  bytes.writeUInt32LE(number, at + 25);
  bytes.writeDoubleLE(place, at + 29);
  writeId(bytes, at + 37, id);
  const keyBytes = bytes.write(row.userKey, at + 47);
  bytes.writeUInt16LE(keyBytes, at + 45);
  bytes.fill(0, at + 1, at + 25);
  bytes.copy(bytes, at + 1, at + 47, at + 47 + Math.min(keyBytes, KEY_START));
  entry.end = at + 47 + keyBytes + bytes.write(row.record, at + 47 + keyBytes);
  rows.take();

  const key = ids.begin(BYTES_OF.id + 4 + keyLongest);
  key.bytes[key.at] = family;
  writeId(key.bytes, key.at + 1, id);
  key.bytes.writeUInt32LE(number, key.at + 9);
  key.end = key.at + 13 + key.bytes.write(row.userKey, key.at + 13);
  ids.take();
}

/** What an entry of the profiles' rows says. */
export const profileRow = {
  family: ({ bytes, at }: Entry) => FAMILIES[bytes[at] as number] as Family,
  number: ({ bytes, at }: Entry) => bytes.readUInt32LE(at + 25),
  origin: ({ bytes, at }: Entry) => bytes.readDoubleLE(at + 29),
  id: ({ bytes, at }: Entry) => readId(bytes, at + 37),
  userKey: ({ bytes, at }: Entry) => bytes.toString('utf8', at + 47, at + 47 + bytes.readUInt16LE(at + 45)),
  record: ({ bytes, at, end }: Entry) => bytes.subarray(at + 47 + bytes.readUInt16LE(at + 45), end),
};

// Numbers where they are exact, as most are; big integers are slower.
const EXACT_DIGITS = 15;
const EXACT_HIGH = 2 ** 21;
const LAST_DATE = 99991231235959;

const toId = (text: string) => (text.length <= EXACT_DIGITS ? Number(text) : BigInt(text));

function writeId(bytes: Buffer, at: number, id: number | bigint): void {
  if (typeof id === 'bigint') return void bytes.writeBigUInt64BE(id, at);
  bytes.writeUInt32BE(Math.floor(id / 2 ** 32), at);
  bytes.writeUInt32BE(id >>> 0, at + 4);
}

const readId = (bytes: Buffer, at: number) => joined(bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4));

const joined = (high: number, low: number) =>
  high < EXACT_HIGH ? high * 2 ** 32 + low : (BigInt(high) << 32n) | BigInt(low);

function digitsOf(date: string): number {
  let digits = 0;
  for (let i = 0; i < date.length; i++) {
    const digit = date.charCodeAt(i) - 48;
    if (digit >= 0 && digit <= 9) digits = digits * 10 + digit;
  }
  return digits;
}

const writeDate = (bytes: Buffer, at: number, digits: number) => bytes.writeUIntBE(digits, at, 6);
const readDate = (bytes: Buffer, at: number) => bytes.readUIntBE(at, 6);
