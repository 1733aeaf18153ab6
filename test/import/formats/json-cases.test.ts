// JSON as in JSONTestSuite, read by the import: valid JSON is read, invalid JSON is refused with one message, and where
// parsers differ nothing crashes. The cases are those in which our scanner, not only JSON.parse, decides.
import { expect, test } from 'vitest';
import { normalise } from '../../../src/records/normalise.ts';
import { readEntries } from '../../support/importing.ts';

async function read(content: Buffer) {
  const { entries, failure } = await readEntries(content);
  return {
    values: entries.flatMap((entry) => ('value' in entry ? [entry.value] : [])),
    problems: [...entries, { problem: failure?.message }].flatMap((entry) =>
      'problem' in entry ? (entry.problem ?? []) : [],
    ),
  };
}

const MEMBERS = '"id":"1","user":"2","date":"2024-01-01 00:00:00"';
const isRecord = (value: unknown) => 'row' in normalise(value);

/** Files with the text as the value of a member that no record has. */
function filesWith(text: string | Buffer): [where: string, file: Buffer][] {
  const bytes = Buffer.from(text as string);
  const file = (before: string, after: string) =>
    Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
  const line: [string, Buffer] = ['a line', file(`{"zzz":{}}\n{${MEMBERS},"zzz":`, '}\n')];
  return [
    ['an array', file(`[{"zzz":{}},{${MEMBERS},"zzz":`, '}]')],
    ...(bytes.includes('\n') ? [] : [line]),
    ['a saved body', file(`{"posts":[{"zzz":{}},{"zzz":`, `,${MEMBERS}}]}`)],
    ['one record', file(`{"zzz":\n`, `,\n${MEMBERS}\n}`)],
  ];
}

/** Every problem is one printable sentence. */
function expectRefused(what: unknown, { values, problems }: Awaited<ReturnType<typeof read>>) {
  expect([what, values.filter(isRecord)]).toEqual([what, []]);
  expect([what, problems.length]).not.toEqual([what, 0]);
  for (const problem of problems) expect(problem).toMatch(/^[\P{Cc}]{5,200}$/u);
}

const nested = (open: string, depth: number, close: string, inner = '') =>
  open.repeat(depth) + inner + close.repeat(depth);

const VALID = [
  ...['null', 'true', '[]', '[ ]', '[null, 1, "1", {}, [], true]', '[[],[[]]]', '[1\n,2]', '{}', '{"":0}'],
  ...['{"a\\u0000b":1}', '0', '-0', '123.456e78', '-0.0000001', '1E-2', '9'.repeat(39)],
  ...['"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\\\u0000"', '"\\\\\\"\\\\"', '"\\uD801\\udc37"', '"\\uFFFE\uFDD0"'],
  ...['"a\u007fa"', '"\u2028\u2029"', '"aé€𝄞"', '"\uFEFF"', '"]}[{,:"', '"a/*b*/c//d#e"'],
  ` \t\n\r[ \t\n\r1 \t\n\r, \t\n\r2 \t\n\r] \t\n\r`,
  `{"x":[{"id":"${'x'.repeat(2000)}"}],"id":"${'x'.repeat(2000)}"}`,
  nested('[', 1000, ']'),
];

test('valid JSON is read', async () => {
  for (const text of VALID)
    for (const [where, file] of filesWith(text)) {
      const { values, problems } = await read(file);
      const last = values.at(-1) as { zzz: unknown };
      expect([text, where, problems, isRecord(last)]).toEqual([text, where, [], true]);
      expect(JSON.parse(JSON.stringify(last.zzz))).toEqual(JSON.parse(text));
    }
});

const INVALID = [
  ...['{"a":"b","a":"c"}', '[{"a":1},{"a":{"b":1,"\\u0062":2}}]'],
  ...['', 'nul', 'True', 'NaN', '-Infinity', '+1', '- 1', '012', '.5', '2.', '1e', '0x42', '1a', '１', 'abc'],
  ...[
    "'a'",
    '“a”',
    '`a`',
    '/a/',
    '"\\x00"',
    '"\\\n"',
    '"\\u00A"',
    '"\\u{61}"',
    '"\t"',
    '"a\nb"',
    '"a\u0000b"',
  ],
  ...['"a', '1 2', '"a" "b"', '["": 1]', '[1,,2]', '[1,,]', '[,1]', '[,]', '[1 2]', '[1}', '[1', '[1]]'],
  ...['{"a" "b"}', '{"a"::1}', '{"a",1}', '{"a":}', '{:1}', '{"a"}', '{,}', '{"a":1,,"b":2}', '{"a":1,,}'],
  ...['{a:1}', '{1:1}', '{[]:1}', '{"a":1]', '/* */ 1', '1 // c\n', '1 # c\n', '1\f', '1\u00a0', '\uFEFF1'],
  '1\u0000',
];
/** Bytes within a text that are no UTF-8: overlong, lone, cut, a surrogate, beyond the last code point, ISO-8859-1. */
const NOT_UTF8 = ['c0af', '81', 'e0ff', 'eda080', 'f4bfbfbf', 'e9'].map((hex) =>
  Buffer.from(`22${hex}22`, 'hex'),
);

test('invalid JSON is refused with one message', async () => {
  for (const text of [...INVALID, ...NOT_UTF8])
    for (const [where, file] of filesWith(text)) expectRefused([text, where], await read(file));
});

test.each<[text: string, meant: unknown]>([
  ['["a",]', ['a']],
  ['{"a":"b" , }', { a: 'b' }],
  ['[{"a":["b",],},]', [{ a: ['b'] }]],
])('the trailing comma in %s is accepted', async (text, meant) => {
  for (const [where, file] of filesWith(text)) {
    const { values, problems } = await read(file);
    expect([where, problems, values.at(-1)]).toMatchObject([where, [], { zzz: meant }]);
  }
});

test('where parsers differ, the record is read or refused', async () => {
  const texts = [
    ...['1e9999', '1e-9999', `1e${'9'.repeat(400)}`, '9'.repeat(5000), '"\\uD800"', '"\\uDC00\\uD800"'],
    ...['{"__proto__":{"id":1}}', nested('[', 200_000, ']'), nested('{"a":', 100_000, '}', '1')],
  ];
  for (const text of texts)
    for (const [where, file] of filesWith(text)) {
      const { values, problems } = await read(file);
      expect([where, values.filter(isRecord).length + problems.length]).not.toEqual([where, 0]);
    }
});
