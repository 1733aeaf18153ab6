// `vitrine check`: reads a whole database and says what in it is wrong.

import type { CheckResult } from '../soundness.ts';
import { findFaults } from '../soundness.ts';
import { mergeConnection } from './connect.ts';
import { openSnapshot } from './database.ts';
import { describeErrors } from './errors.ts';
import { countRecords } from './read.ts';

export async function check(url: string): Promise<CheckResult> {
  const { client, name } = await openSnapshot(url);
  return await describeErrors(name, async () => ({
    faults: await findFaults(mergeConnection(client)),
    counts: await countRecords(client),
  })).finally(() => client.end());
}
