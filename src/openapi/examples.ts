// Example responses for the OpenAPI document: one sample user's.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Family, KINDS } from '../records/kinds.ts';
import { normalise } from '../records/normalise.ts';
import type { Row } from '../records/row.ts';
import { userKey } from '../records/user-name.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures');
const SHOWN_USER = 'ada';
const SHOWN_ITEMS = 2;

/** The user's profile and newest items. */
export function sampleAnswers(family: Family, collection: string) {
  const lines = readFileSync(join(FIXTURES, `${family}.ndjson`), 'utf8')
    .split('\n')
    .filter(Boolean);
  const rows = lines
    .map((line) => normalise(JSON.parse(line)))
    .flatMap((found) => ('row' in found ? [found.row] : []));
  const profile = rows.find((row) => row.userKey === userKey(SHOWN_USER)) as Row;
  const items = rows
    .filter(({ kind, owner }) => KINDS[kind].family === family && owner === profile.id)
    .sort((one, two) => (one.date < two.date ? 1 : -1))
    .slice(0, SHOWN_ITEMS);
  return {
    profile: { summary: 'A profile', value: JSON.parse(profile.record) as object },
    items: {
      summary: `Newest items (${SHOWN_ITEMS} of them)`,
      value: { [collection]: items.map(({ record }) => JSON.parse(record) as object) },
    },
  };
}
