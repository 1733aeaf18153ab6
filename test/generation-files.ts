// Files of several generations of the same users, to put in the place of a served file.
import { copyFileSync, renameSync } from 'node:fs';
import { beforeAll } from 'vitest';
import { databaseOf, done } from './rig.ts';
import { bodiesOf, generation } from './stress.ts';

export const GENERATIONS = 6;
const ALL = Array.from({ length: GENERATIONS }, (_, number) => number);
export const EXPECTED = ALL.map((number) => bodiesOf(generation(number)));
export const ADDRESSES = [...(EXPECTED[0] as Map<string, string>).keys()];
export const PROFILE = '/b/api/username/user3';

/** Each generation as a freshly imported file and as a snapshot. */
export const sources: { fresh: string; snapshot: string }[] = [];
beforeAll(async () => {
  const made = ALL.map(async (number) => {
    const fresh = await databaseOf(...generation(number));
    const snapshot = `${fresh}.snapshot`;
    await done(['snapshot', '--database-url', fresh, snapshot]);
    return { fresh, snapshot };
  });
  sources.push(...(await Promise.all(made)));
});

/** The page size in the header of a SQLite file. */
export const pageSize = (bytes: Buffer) => bytes.readUInt16BE(16);

export function putInPlace(source: string, path: string): void {
  copyFileSync(source, `${path}.incoming`);
  renameSync(`${path}.incoming`, path);
}
