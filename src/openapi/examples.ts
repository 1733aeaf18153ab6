// Example responses for the OpenAPI document: a sample user's, kept in a file so that a start loads no record schemas.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Family } from '../records/kinds.ts';

const FILE = join(import.meta.dirname, '../../fixtures/examples.json');

/** The user's profile and newest items. */
export function sampleAnswers(family: Family, collection: string) {
  const { profile, items } = JSON.parse(readFileSync(FILE, 'utf8'))[family];
  return {
    profile: { summary: 'A profile', value: profile as object },
    items: { summary: `Newest items (${items.length} of them)`, value: { [collection]: items as object[] } },
  };
}
