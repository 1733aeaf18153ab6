// What the database keeps of a takedown: a salted hash of a user's name, a user's id or an item's id.
import { hash } from 'node:crypto';
import type { Family } from '../records/kinds.ts';
import type { TakedownList } from './store.ts';

export type HashedValue = 'name' | 'id' | 'item';

/** The salt is of a fixed length, so it can stand before the text. PostgreSQL has a function of its own for the same. */
export const takedownHash = (salt: string, family: string, what: string, value: string): string =>
  hash('sha256', `${salt} ${family} ${what} ${value}`, 'hex');

/** Whether a list names a value of a family. */
export function createTakedownFilter({ salts, entries }: TakedownList, family: Family) {
  const hashes = new Set(entries.map(({ hash }) => hash));
  return (what: HashedValue, value: string): boolean =>
    hashes.size > 0 && salts.some((salt) => hashes.has(takedownHash(salt, family, what, value)));
}
