// `vitrine check`: reads a whole database and says what in it is wrong.
import { findFaults } from '../soundness.ts';
import type { CheckResult } from '../store.ts';
import { rowsOf } from './connect.ts';
import { openSnapshot } from './database.ts';
import { countRecords } from './read.ts';
import { withSentences } from './sentences.ts';

const member = (name: string) => `members(record) ->> '${name}'`;

export async function check(url: string): Promise<CheckResult> {
  const { client, name } = await openSnapshot(url);
  const db = { run: () => 0, rows: (sql: string) => rowsOf(client, sql) };
  return await withSentences(name, async () => ({
    faults: await findFaults(db, member),
    counts: await countRecords(client),
  })).finally(() => client.end());
}
