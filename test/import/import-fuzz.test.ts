// Fuzzing the import: any file is read or refused, the same in chunks of any size, without a crash.
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normalise } from '../../src/records/normalise.ts';
import { readEntries } from '../support/importing.ts';
import { blog, post, shot } from '../support/records.ts';

const RUNS = Number(process.env.FUZZ_FILES ?? 300);
const LIMIT = 240_000 + RUNS * 20;

/** What an import makes of a file: a record or a fault for each line, or why it cannot be read. */
async function outcome(bytes: Buffer, chunk: number): Promise<unknown[]> {
  const { entries, failure } = await readEntries(bytes, chunk);
  for (const entry of entries) expect(entry.text()).not.toMatch(/[\r\n]/);
  const results = entries.map((entry) => ('problem' in entry ? entry.problem : normalise(entry.value)));
  return [
    ...results.map((result, nth) => `${entries[nth]?.line} ${JSON.stringify(result)}`),
    failure?.message,
  ];
}

const records = [blog(1, 'ada', { bio: 'é "x"\\' }), post(1, 1), shot(2, 1, { title: 'a,b;c\td' })];
const csv = 'id,username,name,bio\n1,ada,"A, ""B""",x\n2,bob,"two\nlines",\n';
const FILES = [
  records.map((record) => JSON.stringify(record)).join('\n'),
  JSON.stringify(records, null, 1),
  `{"posts":[${JSON.stringify(records[1])},]}`,
  csv,
  csv.replaceAll('\n', '\r\n'),
  csv.replaceAll(',', ';'),
];
const SCRAPS = [
  ...'"\\,;\t\n\r{}[]:\u0000\ufeff',
  ...['\r\n', '{}', '[]', '""'],
  ...['-', '0', '9.90', '1e9', 'null', '{"posts":[', 'id,username', '\\u12', 'é', '🗺', '\u009b', ' '],
];

interface Edit {
  readonly at: number;
  readonly removed: number;
  readonly added: Buffer;
}

const scrap = fc.oneof(
  fc.constantFrom(...SCRAPS).map((text) => Buffer.from(text)),
  fc.uint8Array({ minLength: 1, maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
);
const edit = fc.record({ at: fc.nat(1000), removed: fc.nat(8), added: scrap });
const changed = (file: Buffer, { at, removed, added }: Edit) => {
  const place = at % (file.length + 1);
  return Buffer.concat([file.subarray(0, place), added, file.subarray(place + removed)]);
};
const file = fc
  .tuple(fc.constantFrom(...FILES), fc.array(edit, { maxLength: 4 }))
  .map(([text, edits]) => edits.reduce(changed, Buffer.from(text)));

test(
  'an edited file gives the same in any chunks, plain and compressed',
  () =>
    fc.assert(
      fc.asyncProperty(file, fc.integer({ min: 1, max: 40 }), async (bytes, chunk) => {
        const whole = await outcome(bytes, bytes.length + 1);
        expect(await outcome(bytes, chunk)).toEqual(whole);
        expect(await outcome(gzipSync(bytes), 1000)).toEqual(whole);
      }),
      { numRuns: RUNS },
    ),
  LIMIT,
);

test(
  'random bytes are read or refused',
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.array(scrap, { maxLength: 30 }).map((parts) => Buffer.concat(parts)),
          fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
          fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from([0x1f, 0x8b, ...bytes])),
        ),
        fc.integer({ min: 1, max: 40 }),
        async (bytes, chunk) => {
          expect(await outcome(bytes, chunk)).toEqual(await outcome(bytes, bytes.length + 1));
        },
      ),
      { numRuns: RUNS },
    ),
  LIMIT,
);
