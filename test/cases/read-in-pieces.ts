// Tries the readers of import formats: in pieces of any size, plain and compressed, a file gives the same entries.
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import type { Entry } from '../../src/import/formats/entry.ts';
import { readEntries } from '../support/importing.ts';

export async function readInPieces(content: Buffer, args: readonly string[]): Promise<string> {
  const { values } = parseArgs({
    args: [...args],
    options: { lists: { type: 'string' }, encoding: { type: 'string' } },
  });
  const options = {
    lists: values.lists?.split(',').filter((name) => name !== '-'),
    encoding: values.encoding,
  };
  const whole = await read(content, content.length + 1, options);
  for (const size of [1, 7]) expect(await read(content, size, options), `pieces of ${size}`).toBe(whole);
  if (content[0] === 0x1f) return whole;
  for (const size of [1, 99_999]) expect(await read(gzipSync(content), size, options)).toBe(whole);
  return whole;
}

async function read(content: Buffer, size: number, options: Parameters<typeof readEntries>[2]) {
  const { entries, failure } = await readEntries(content, size, options);
  const lines = [
    ...entries.map(describeEntry),
    ...(failure === undefined ? [] : [`${failure.name}: ${failure.message}`]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/** Its line and value or problem; and the line of NDJSON that stands for it if that is another text. */
function describeEntry(entry: Entry): string {
  const text = entry.text();
  expect(text).not.toMatch(/[\r\n]/);
  const value = 'value' in entry ? JSON.stringify(entry.value) : `! ${entry.problem}`;
  return `${entry.line} ${value}${text === value ? '' : ` <- ${text}`}`;
}
