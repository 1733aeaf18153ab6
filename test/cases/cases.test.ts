// What commands print and what addresses respond with. fixtures/cases/TOPIC.txt has both; fixtures/cases/README.md says how.
// After a wanted change, `npm test -- cases -u` writes the outputs anew: read the diff before you commit it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { storeName } from '../support/database.ts';
import { ROOT } from '../support/files.ts';
import { runCase } from './session.ts';
import { formatTranscript, parseTranscripts } from './transcript.ts';

const FOLDER = join(ROOT, 'fixtures/cases');
const topics = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'));
/** Of these, every store gives the same. */
const OF_STORES = ['check.txt', 'ownership.txt', 'stores.txt', 'takedown.txt'];

describe(`on ${storeName()}`, () => {
  test.each(storeName() === 'SQLite' ? topics : OF_STORES)('%s', async (topic) => {
    const file = join(FOLDER, topic);
    const results: string[] = [];
    for (const transcript of parseTranscripts(readFileSync(file, 'utf8')))
      results.push(formatTranscript(transcript, await runCase(transcript)));
    await expect(results.join('\n')).toMatchFileSnapshot(file);
  });
});
