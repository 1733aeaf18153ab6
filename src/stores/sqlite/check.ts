// `vitrine check`: reads a whole file and says what in it is wrong.

import type { CheckResult } from '../soundness.ts';
import { findFaults } from '../soundness.ts';
import { addFunctions, type Connection, mergeConnection, openForReading } from './connect.ts';
import { toStoreError } from './errors.ts';
import { countRecords } from './read.ts';

export async function check(path: string): Promise<CheckResult> {
  const db = openForReading(path, path);
  try {
    addFunctions(db);
    const damage = structuralFaults(db);
    if (damage.length > 0) return { faults: damage, counts: undefined };
    return { faults: await findFaults(mergeConnection(db)), counts: countRecords(db) };
  } catch (error) {
    throw toStoreError(path, error);
  } finally {
    db.close();
  }
}

function structuralFaults(db: Connection): string[] {
  return (db.pragma('integrity_check(20)') as { integrity_check: string }[])
    .map((row) => row.integrity_check)
    .filter((line) => line !== 'ok');
}
