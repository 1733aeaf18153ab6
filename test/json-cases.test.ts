// JSON parsing cases as in JSONTestSuite, read by the import: valid JSON (y) is read, invalid
// (n) is refused with one message, and where parsers differ (i) nothing crashes.
import { describe, expect, test } from 'vitest';
import { readRecords } from '../src/formats/detect.ts';
import { FormatError } from '../src/formats/entry.ts';
import { normalise } from '../src/records/normalise.ts';

type Read = { readonly values: unknown[]; readonly problems: string[] };

async function read(content: Buffer | string): Promise<Read> {
  const values: unknown[] = [];
  const problems: string[] = [];
  const source = (async function* () {
    yield Buffer.from(content as string);
  })();
  try {
    for await (const batch of readRecords(source))
      for (const entry of batch) {
        if ('value' in entry) values.push(entry.value);
        else problems.push(entry.problem);
      }
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    problems.push(error.message);
  }
  return { values, problems };
}

const MEMBERS = '"id":"1","user":"2","date":"2024-01-01 00:00:00"';

/** Files with the text as the value of a member that no record has. Some of the cases stand in every place. */
const around = (text: string | Buffer): [where: string, file: Buffer][] => {
  const bytes = Buffer.from(text as string);
  const file = (before: string, after: string) =>
    Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
  const array: [string, Buffer] = ['an array', file(`[{"zzz":{}},{${MEMBERS},"zzz":`, '}]')];
  if (bytes.length % 8 !== 0) return [array];
  const line: [string, Buffer] = ['a line', file(`{"zzz":{}}\n{${MEMBERS},"zzz":`, '}\n')];
  return [
    array,
    ...(bytes.includes('\n') ? [] : [line]),
    ['a saved body', file(`{"posts":[{"zzz":{}},{"zzz":`, `,${MEMBERS}}]}`)],
    ['one record', file(`{"zzz":\n`, `,\n${MEMBERS}\n}`)],
  ];
};

const VALID: [name: string, text: string][] = [
  ['null', 'null'],
  ['true', 'true'],
  ['false', 'false'],
  ['an empty array', '[]'],
  ['an empty array with a space', '[ ]'],
  ['an array of everything', '[null, 1, "1", {}, [], true]'],
  ['an array of arrays', '[[],[[]]]'],
  ['an array over two lines', '[1\n,2]'],
  ['an empty object', '{}'],
  ['an empty name', '{"":0}'],
  ['a repeated name', '{"a":"b","a":"c"}'],
  ['a name with an escaped zero', '{"a\\u0000b":1}'],
  ['long texts', `{"x":[{"id":"${'x'.repeat(2000)}"}],"id":"${'x'.repeat(2000)}"}`],
  ['zero', '0'],
  ['minus zero', '-0'],
  ['minus one', '-1'],
  ['a fraction', '123.456789'],
  ['a small fraction', '-0.000000000000000000000000000000000000000000000000000000000000000000000000000001'],
  ['an exponent', '1E22'],
  ['a signed exponent', '1e+2'],
  ['a negative exponent', '1E-2'],
  ['a fraction with an exponent', '123.456e78'],
  ['zero with an exponent', '0e1'],
  ['digits that no double holds', '100000000000000000000000000000000000001'],
  ['the escapes', '"\\"\\\\\\/\\b\\f\\n\\r\\t"'],
  ['an escaped backslash before an escape', '"\\\\u0000"'],
  ['an escaped backslash before a quotation mark', '"\\\\\\"\\\\"'],
  ['Unicode escapes', '"\\u0060\\u012a\\u12AB\\u0000"'],
  ['an escaped surrogate pair', '"\\uD801\\udc37"'],
  ['the last code point', '"\\uDBFF\\uDFFF"'],
  ['a noncharacter', '"\\uFFFE\\uFFFF\uFDD0"'],
  ['DEL', '"a\u007fa"'],
  ['line separators', '"\u2028\u2029"'],
  ['UTF-8 of each length', '"aé€𝄞"'],
  ['a byte order mark in a text', '"\uFEFF"'],
  ['brackets in a text', '"]}[{,:"'],
  ['a comment in a text', '"a/*b*/c//d#e"'],
  ['blanks of every kind', ' \t\n\r[ \t\n\r1 \t\n\r, \t\n\r2 \t\n\r] \t\n\r'],
  ['1,000 nested arrays', '['.repeat(1000) + ']'.repeat(1000)],
  ['100,000 nested arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
];

const INVALID: [name: string, text: string | Buffer][] = [
  ['nothing', ''],
  ['a word', 'nul'],
  ['a capital word', 'True'],
  ['undefined', 'undefined'],
  ['NaN', 'NaN'],
  ['Infinity', 'Infinity'],
  ['minus Infinity', '-Infinity'],
  ['a plus sign', '+1'],
  ['a minus sign alone', '-'],
  ['two minus signs', '--1'],
  ['a minus sign and a space', '- 1'],
  ['a leading zero', '012'],
  ['a negative leading zero', '-01'],
  ['a point without a digit before it', '.5'],
  ['a point without a digit after it', '2.'],
  ['a point before an exponent', '2.e3'],
  ['an exponent without a digit', '1e'],
  ['an exponent with a sign only', '1e+'],
  ['two exponents', '1e1e2'],
  ['two points', '1.2.3'],
  ['a hexadecimal number', '0x42'],
  ['an underscore in a number', '1_000'],
  ['a space in a number', '1 000'],
  ['letters after a number', '1a'],
  ['full-width digits', '１'],
  ['a big integer', '1n'],
  ['single quotation marks', "'a'"],
  ['typographic quotation marks', '“a”'],
  ['no quotation marks', 'abc'],
  ['an escape of x', '"\\x00"'],
  ['an escape of an apostrophe', '"\\\'"'],
  ['an escape of zero', '"\\0"'],
  ['an escape of a line break', '"\\\n"'],
  ['an escaped emoji', '"\\🌀"'],
  ['a short Unicode escape', '"\\u00A"'],
  ['an empty Unicode escape', '"\\u"'],
  ['a Unicode escape with a brace', '"\\u{61}"'],
  ['a capital Unicode escape', '"\\U0041"'],
  ['a Unicode escape of other letters', '"\\u00G0"'],
  ['a half pair and a broken escape', '"\\uD834\\u"'],
  ['a tab in a text', '"\t"'],
  ['a line break in a text', '"a\nb"'],
  ['a zero byte in a text', '"a\u0000b"'],
  ['a text that does not end', '"a'],
  ['two values', '1 2'],
  ['two texts', '"a" "b"'],
  ['a colon instead of a comma', '["": 1]'],
  ['two commas in an array', '[1,,2]'],
  ['two commas at an end', '[1,,]'],
  ['a comma at a beginning', '[,1]'],
  ['a comma alone', '[,]'],
  ['no comma', '[1 2]'],
  ['an array closed as an object', '[1}'],
  ['an array that does not end', '[1'],
  ['an array closed twice', '[1]]'],
  ['an array with a semicolon', '[1;2]'],
  ['an object without a colon', '{"a" "b"}'],
  ['an object with two colons', '{"a"::1}'],
  ['an object with a comma for a colon', '{"a",1}'],
  ['an object without a value', '{"a":}'],
  ['an object without a name', '{:1}'],
  ['a name alone', '{"a"}'],
  ['a comma alone in an object', '{,}'],
  ['two commas in an object', '{"a":1,,"b":2}'],
  ['two commas at the end of an object', '{"a":1,,}'],
  ['a name without quotation marks', '{a:1}'],
  ['a number as a name', '{1:1}'],
  ['null as a name', '{null:1}'],
  ['an array as a name', '{[]:1}'],
  ['an object closed as an array', '{"a":1]'],
  ['a block comment', '/* */ 1'],
  ['a line comment', '1 // c\n'],
  ['a hash comment', '1 # c\n'],
  ['a form feed', '1\f'],
  ['a vertical tab', '1\v'],
  ['a no-break space', '1\u00a0'],
  ['a word joiner', '1\u2060'],
  ['a byte order mark before a value', '\uFEFF1'],
  ['a zero byte', '1\u0000'],
  ['a template', '`a`'],
  ['a regular expression', '/a/'],
  ['an expression', '1+1'],
  ['a spread', '[...a]'],
  ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
  ['a lone continuation byte', Buffer.from([0x22, 0x81, 0x22])],
  ['a cut UTF-8 character', Buffer.from([0x22, 0xe0, 0xff, 0x22])],
  ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ['UTF-8 above the last code point', Buffer.from([0x22, 0xf4, 0xbf, 0xbf, 0xbf, 0x22])],
  ['ISO-8859-1', Buffer.from([0x22, 0xe9, 0x22])],
];

/** Invalid JSON that is accepted nevertheless. */
const LENIENT: [name: string, text: string, meant: unknown][] = [
  ['a trailing comma in an array', '["a",]', ['a']],
  ['a trailing comma in an object', '{"a":"b" , }', { a: 'b' }],
  ['trailing commas at several depths', '[{"a":["b",],},]', [{ a: ['b'] }]],
];

const UNDEFINED: [name: string, text: string][] = [
  ['a huge exponent', '1e9999'],
  ['a huge negative exponent', '1e-9999'],
  ['an exponent of 400 digits', `1e${'9'.repeat(400)}`],
  ['a number of 5,000 digits', '9'.repeat(5000)],
  ['half a surrogate pair', '"\\uD800"'],
  ['the second half first', '"\\uDC00\\uD800"'],
  ['half a pair and a letter', '"\\uD888\\u1234"'],
  ['500,000 nested arrays', '['.repeat(500_000) + ']'.repeat(500_000)],
  ['100,000 nested objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ['100,000 nested arrays with a number', `${'['.repeat(100_000)}0.10${']'.repeat(100_000)}`],
  ['a name of __proto__', '{"__proto__":{"id":1}}'],
];

/** The value with its numbers as JavaScript numbers. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
const isRecord = (value: unknown) => 'row' in normalise(value);

describe('valid (y)', () => {
  test.each(VALID)('%s', async (_, text) => {
    for (const [where, file] of around(text)) {
      const { values, problems } = await read(file);
      expect([where, problems, isRecord(values.at(-1))]).toEqual([where, [], true]);
      if (text.length > 50_000) continue;
      expect([where, plain((values.at(-1) as { zzz: unknown }).zzz)]).toEqual([where, JSON.parse(text)]);
    }
  });
});

describe('invalid (n)', () => {
  test.each(INVALID)('%s', async (_, text) => {
    for (const [where, file] of around(text)) {
      const { values, problems } = await read(file);
      expect([where, values.filter(isRecord)]).toEqual([where, []]);
      expect([where, problems.length]).not.toEqual([where, 0]);
      for (const problem of problems) expect(problem).toMatch(/^[\P{Cc}]{5,200}$/u);
    }
  });
});

describe('lenient', () => {
  test.each(LENIENT)('%s', async (_, text, meant) => {
    for (const [where, file] of around(text)) {
      const { values, problems } = await read(file);
      expect([where, problems, plain((values.at(-1) as { zzz: unknown }).zzz)]).toEqual([where, [], meant]);
    }
  });
});

describe('undefined (i): read or refused, and nothing crashes', () => {
  test.each(UNDEFINED)('%s', async (_, text) => {
    for (const [where, file] of around(text)) {
      const { values, problems } = await read(file);
      expect([where, values.filter(isRecord).length + problems.length]).not.toEqual([where, 0]);
    }
  });
});

describe('whole files', () => {
  const R = `{${MEMBERS}}`;

  test.each([
    ['a record', R, 1],
    ['an array', `[${R},${R}]`, 2],
    ['an empty array', '[]', 0],
    ['blanks around an array', ` \n[ ${R} ]\n `, 1],
    ['a byte order mark', `\uFEFF[${R}]`, 1],
    ['records on lines', `${R}\n${R}\n`, 2],
    ['arrays on lines', `[${R}]\n[${R}]\n`, 2],
    ['bodies that touch', `{"posts":[${R}]}{"posts":[${R}]}`, 2],
    ['a trailing comma', `[${R},]`, 1],
    ['a trailing comma after the record', `${R},\n${R},\n`, 2],
  ])('%s is read', async (_, file, records) => {
    const { values, problems } = await read(file);
    expect([problems, values.length, values.every(isRecord)]).toEqual([[], records, true]);
  });

  test.each([
    ['nothing', ''],
    ['a blank', ' '],
    ['a byte order mark alone', '\uFEFF'],
    ['a bracket', '['],
    ['a closing bracket', ']'],
    ['a brace', '{'],
    ['a comma', ','],
    ['two arrays', '[][]'],
    ['two arrays and a comma', '[],[]'],
    ['a comma after an array', `[${R}],`],
    ['an array closed twice', `[${R}]]`],
    ['an array closed as an object', `[${R}}`],
    ['an array that is not closed', `[${R}`],
    ['two commas', `[${R},,${R}]`],
    ['no comma', `[${R}${R}]`],
    ['a comma at the beginning', `[,${R}]`],
    ['a comma alone', '[,]'],
    ['an array in an array', `[[${R}]]`],
    ['text after an array', `[${R}]x`],
    ['a comment after an array', `[${R}]//`],
    ['an array after a record', `${R}[${R}]`],
    ['an apostrophe', "'"],
    ['a quotation mark', '"'],
    ['a number', '1'],
    ['a text', '"text"'],
    ['null', 'null'],
    ['HTML', '<!doctype html><html></html>'],
    ['UTF-16 with a byte order mark', Buffer.from(`\uFEFF[${R}]`, 'utf16le')],
    ['UTF-16 without one', Buffer.from(`[${R}]`, 'utf16le')],
    ['a zero byte', '\u0000'],
    ['a cut UTF-8 character', Buffer.from([0xe5])],
    ['100,000 brackets', '['.repeat(100_000)],
    ['100,000 brackets and braces', '[{"":'.repeat(100_000)],
  ])('%s is refused', async (_, file) => {
    const { problems } = await read(file);
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) expect(problem).toMatch(/^[\P{Cc}]{5,200}$/u);
  });
});
