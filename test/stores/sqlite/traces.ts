// Users with texts that are found again, byte by byte, wherever something of them was left.
import { readFileSync } from 'node:fs';
import { gunzipSync, constants as zlib } from 'node:zlib';
import { folio, shot } from '../../support/records.ts';

/** The same numbers for the same seed, from 0 to 1. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

const token = (id: number) => `tok${id}x`;
const TOKEN = /tok(\d+)x/g;

/** The names that a user has in even and in odd rounds. */
export const namesOf = (id: number) => [`u${token(id)}`, `u${token(id)}y`];

const ITEMS = 3;

/** So many users with texts of many lengths; of another round than the first, those who change. */
export function* people(users: number, round: number, random: () => number) {
  const text = (id: number, most: number) => `${token(id)} round ${round} `.repeat(1 + random() ** 2 * most);
  for (let id = 1; id <= users; id++) {
    if (round > 0 && random() > 0.3) continue;
    yield folio(id, namesOf(id)[round % 2] as string, { name: text(id, 3).slice(0, 200), bio: text(id, 60) });
    for (let n = 0; n < ITEMS; n++)
      yield shot(id * 10 + n, id, { title: text(id, 4), description: text(id, 100) });
  }
}

/** How often something of these users is in the file, as it is or compressed. */
export function countTraces(path: string, ids: readonly number[]): number {
  const gone = new Set(ids);
  const bytes = readFileSync(path);
  const count = (text: string) => [...text.matchAll(TOKEN)].filter(([, id]) => gone.has(Number(id))).length;
  let found = count(bytes.toString('latin1'));
  for (let at = bytes.indexOf('1f8b08', 0, 'hex'); at >= 0; at = bytes.indexOf('1f8b08', at + 1, 'hex'))
    try {
      const options = { finishFlush: zlib.Z_SYNC_FLUSH };
      found += count(gunzipSync(bytes.subarray(at, at + 400), options).toString('latin1'));
    } catch {
      // Not the start of a compressed text.
    }
  return found;
}
