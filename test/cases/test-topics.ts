// What commands print and what addresses respond with. fixtures/cases/TOPIC.txt has both; fixtures/cases/README.md says how.
// After a wanted change, `npm test -- cases -u` writes the outputs anew: read the diff before you commit it. With
// `-t 'words of a title'`, only these cases run, and the others stay as they are.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { ROOT } from '../support/files.ts';
import { runCase } from './session.ts';
import { formatTranscript, parseTranscripts } from './transcript.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The run has `-u`. */
    writesGoldens: boolean;
  }
}

const FOLDER = join(ROOT, 'fixtures/cases');

/** Of these, every store gives the same. */
export const OF_STORES = ['check', 'ownership', 'stores', 'takedown'];
/** What becomes of data. */
export const OF_DATA = [
  ...OF_STORES,
  'exports',
  'for-maps',
  'formats',
  'imports',
  'maps',
  'records',
  'restore',
];
/** What commands print. */
export const OF_COMMANDS = ['cli', 'commands', 'config', 'media', 'mirror', 'print', 'purge'];
/** What addresses respond with: all other topics. */
export const OF_ADDRESSES = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.txt'))
  .map((name) => name.replace('.txt', ''))
  .filter((topic) => ![...OF_DATA, ...OF_COMMANDS].includes(topic));

/** A test for each case of these topics. */
export function testTopics(topics: readonly string[]): void {
  describe.each(topics)('%s', (topic) => {
    const file = join(FOLDER, `${topic}.txt`);
    const texts = readFileSync(file, 'utf8').split(/\n(?==== )/);
    for (const [index, transcript] of parseTranscripts(texts.join('\n')).entries())
      test(transcript.title, async () => {
        const text = formatTranscript(transcript, await runCase(transcript));
        if (inject('writesGoldens')) texts[index] = text;
        else expect(text).toBe(texts[index]);
      });
    afterAll(() => {
      if (inject('writesGoldens')) writeFileSync(file, texts.join('\n'));
    });
  });
}
