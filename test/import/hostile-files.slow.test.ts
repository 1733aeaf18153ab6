// Files that are made to take memory are refused with a sentence by an import with 128 MB, however long they are.
import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { tempFolder } from '../support/files.ts';
import { createMemoryGroup, type MemoryGroup, skipWithoutMemoryGroups } from '../support/memory-group.ts';
import { vitrine } from '../support/run.ts';

const MB = 2 ** 20;

/** So many MB of the same few characters, between others. */
function* repeat(piece: string, megabytes: number, before = '', after = ''): Generator<Buffer> {
  yield Buffer.from(before);
  const block = Buffer.from(piece.repeat(Math.ceil(MB / piece.length)));
  for (let given = 0; given < megabytes; given++) yield block;
  yield Buffer.from(after);
}

const ATTRIBUTES = Array.from({ length: 300_000 }, (_, index) => ` a${index}="${index}"`).join('');

const TOO_LONG = /hostile:\d+: record: longer than 1 MiB/;
const MARKUP = /a tag, comment or CDATA section is longer than 8 MiB at line \d+/;

const FILES: [what: string, pieces: () => Iterable<Buffer>, failure: RegExp][] = [
  ['a line without an end', () => repeat('x', 60, '{"id":"1"}\n{'), TOO_LONG],
  ['a CSV cell without an end', () => repeat('x', 60, 'id,username\n1,"'), TOO_LONG],
  ['a JSON text without an end', () => repeat('x', 60, '[{"id":"'), /is not closed/],
  ['a gigabyte of NUL in gzip', () => repeat('\0', 1000), TOO_LONG],
  ['a gigabyte of blanks in gzip', () => repeat(' ', 1000), /it has no records/],
  [
    'an XML element with 300,000 attributes',
    () => [Buffer.from(`<rss><item${ATTRIBUTES}>`)],
    /1000 attributes/,
  ],
  ['an XML attribute without an end', () => repeat('\n', 60, '<rss><item a="'), MARKUP],
  ['an XML comment without an end', () => repeat('\né', 60, '<rss><!--'), MARKUP],
  ['XML comments without text between them', () => repeat('<!-- a -->', 60, '<rss>'), /<rss> is not closed/],
  ['an XML section without an end', () => repeat('\né', 60, '<rss><item><![CDATA['), MARKUP],
  ['an XML name without an end', () => repeat('a', 60, '<rss><item><'), MARKUP],
  [
    'XML names that are long',
    () => repeat(`<${'a'.repeat(1001)}>`, 60, '<rss>'),
    /a name is longer than 1000/,
  ],
  [
    'an XML record with many attributes',
    () => repeat(`<a b="${'b'.repeat(60_000)}"/>`, 60, '<rss><item>', '</item></rss>'),
    /<item> is longer than 1 MiB/,
  ],
];

describe.skipIf(skipWithoutMemoryGroups())('an import with 128 MB refuses', () => {
  test.each(FILES)('%s', async (what, pieces, failure) => {
    const folder = tempFolder();
    const file = join(folder, 'hostile');
    const [source, target] = [Readable.from(pieces()), createWriteStream(file)];
    if (what.includes('gzip')) await pipeline(source, createGzip({ level: 1 }), target);
    else await pipeline(source, target);
    const map = join(folder, 'map.mjs');
    writeFileSync(map, "export const lists = ['item'];\nexport default () => undefined;\n");
    const args = ['import', '--quiet', '--database-url', join(folder, 'site.db'), file];
    if (what.includes('XML')) args.push('--map', map);
    const group = createMemoryGroup(128 * MB) as MemoryGroup;
    try {
      const child = group.start(() => vitrine(args));
      const [said, [code, signal]] = await Promise.all([text(child.stderr as Readable), once(child, 'exit')]);
      expect({ said, code, signal }).toEqual({ said: expect.stringMatching(failure), code: 1, signal: null });
    } finally {
      group.remove();
    }
  });
});
