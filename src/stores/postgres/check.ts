// `vitrine check`: reads a whole database and says what in it is wrong.
import type { CheckResult } from '../soundness.ts';
import { findFaults } from '../soundness.ts';
import { mergeConnection } from './connect.ts';
import { readSnapshot } from './database.ts';
import { countRecords } from './read.ts';

export const check = (url: string): Promise<CheckResult> =>
  readSnapshot(url, async (client) => ({
    faults: await findFaults(mergeConnection(client)),
    counts: await countRecords(client),
  }));
