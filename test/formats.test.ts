// The readers of import files: every format, in chunks of any size, and malformed input.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readRecords } from '../src/formats/detect.ts';
import { type Entry, FormatError, NoContentError } from '../src/formats/entry.ts';
import { ROOT } from './files.ts';

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function readAll(content: string | Buffer, size = 65_536): Promise<Entry[]> {
  const found: Entry[] = [];
  for await (const batch of readRecords(inChunks(Buffer.from(content), size))) found.push(...batch);
  return found;
}

/** Each entry as its line and the JSON of its record, or `!` and its problem. */
const shown = (entries: Entry[]) =>
  entries.map((one) => `${one.line} ${'problem' in one ? `! ${one.problem}` : JSON.stringify(one.value)}`);

const read = async (content: string | Buffer, size?: number) => shown(await readAll(content, size));

/** Of a problem, the expected part is enough. */
const cutTo = (expected: string[], found: string[]) =>
  found.map((line, index) => {
    const [place, part] = expected[index]?.split(' ! ') ?? [];
    return part !== undefined && line.startsWith(`${place} ! `) && line.includes(part)
      ? expected[index]
      : line;
  });

const BOM = '\uFEFF';
const invalid = (before: string, after: string) =>
  Buffer.concat([Buffer.from(before), Buffer.from([0xc3, 0x28]), Buffer.from(after)]);

const CASES: [name: string, content: string | Buffer, seen: string[]][] = [
  ['NDJSON', '{"id":"1"}\n{"id":"2"}\n', ['1 {"id":"1"}', '2 {"id":"2"}']],
  [
    'NDJSON with CR LF and blank lines',
    '\r\n{"id":"1"}\r\n\r\n \t\r\n{"id":"2"}\r\n',
    ['2 {"id":"1"}', '5 {"id":"2"}'],
  ],
  ['NDJSON after a byte order mark', `${BOM}\n {"id":"ä😀"}\n`, ['2 {"id":"ä😀"}']],
  [
    'NDJSON with broken lines',
    '{"a":"1"}\n{"a" 1}\n{"a":x}\n{"a":"2\n[1]\nnull\n7\n{"a":"3"}',
    [
      '1 {"a":"1"}',
      '2 ! at position 5',
      "3 ! Unexpected token 'x'",
      '4 ! not valid JSON',
      '5 ! an array',
      '6 ! null',
      '7 ! a number',
      '8 {"a":"3"}',
    ],
  ],
  [
    'NDJSON whose first line breaks off in a string',
    '{"a":"1\n{"a":"2"}\n',
    ['1 ! not valid JSON', '2 {"a":"2"}'],
  ],
  [
    'NDJSON whose first line breaks off in an object',
    '{"a":"1",\n\n{"a":"2"}\n{"a":"3"}',
    ['1 ! not valid JSON', '3 {"a":"2"}', '4 {"a":"3"}'],
  ],
  [
    'NDJSON with invalid UTF-8',
    invalid('{"a":"1"}\n{"a":"', '"}\n{"a":"\uFFFD"}\n'),
    ['1 {"a":"1"}', '2 ! not valid UTF-8', '3 {"a":"\uFFFD"}'],
  ],
  [
    'NDJSON of bodies',
    '{"posts":[{"id":"1"},{"id":"2",},],}\n{"Shots":[]}\n{"Posts":[3]}\n{"posts":"no"}\n',
    ['1 {"id":"1"}', '1 {"id":"2"}', '3 ! "3"', '4 {"posts":"no"}'],
  ],
  [
    'digits above 2^53',
    '{"a":9007199254740993,"b":-12345678901234567890,"c":"9007199254740993","d":9007199254740991}\n{"posts":[{"id":9007199254740993}]}\n{"id":9007199254740996}',
    [
      '1 {"a":9007199254740993,"b":-12345678901234567890,"c":"9007199254740993","d":9007199254740991}',
      '2 {"id":9007199254740993}',
      '3 {"id":9007199254740996}',
    ],
  ],
  [
    'fractions, exponents and minus zero',
    '{"a":9.90,"b":1e2,"c":-0,"d":[0.10],"e":0.5}\n[9.90]',
    ['1 {"a":9.90,"b":1e2,"c":-0,"d":[0.10],"e":0.5}', '2 ! an array'],
  ],
  ['an array on one line', '[{"a":"]}"},{"a":"\\"{"},]', ['1 {"a":"]}"}', '1 {"a":"\\"{"}']],
  [
    'a pretty array',
    '[\n  {\n    "a": "1",\n  },\n  {\n    "a": "\\\\"\n  }\n]\n',
    ['2 {"a":"1"}', '5 {"a":"\\\\"}'],
  ],
  ['one pretty record', '{\r\n  "id": "1",\r\n  "a": {"b": ["}"]}\r\n}', ['1 {"id":"1","a":{"b":["}"]}}']],
  [
    'a pretty body',
    '{\n "Shots" : [\n  {"id":"1"},\n  {"id":"2"},\n ],\n}\n',
    ['3 {"id":"1"}', '4 {"id":"2"}'],
  ],
  [
    'bodies and records one after another',
    '{"posts":[{"id":"1"}]}{"Posts":[\n{"id":"2"}]}\n{\n"id":"3"}\n[{"id":"4"}]',
    ['1 {"id":"1"}', '2 {"id":"2"}', '3 {"id":"3"}', '5 {"id":"4"}'],
  ],
  [
    'a body of two lists and another member',
    '{"posts":[{"a":"1"}],"next":[{"a":"2"}],"Shots":[{"a":"3"}]}',
    ['1 {"a":"1"}', '1 {"a":"3"}'],
  ],
  [
    'bodies as elements',
    '[{"posts":[{"id":"1"}]},\n{"Shots":[]},{"id":"2","posts":[]},\n{ "Posts":\n[{"id":"3"}] }]',
    ['1 {"id":"1"}', '2 {"id":"2","posts":[]}', '4 {"id":"3"}'],
  ],
  [
    'elements that are no records',
    '[1, "a,{b", null, [{"c":"}"}],\n{"a":"1"}]',
    ['1 ! got "1"', '1 ! "a,{b', '1 ! null', '1 ! an array', '2 {"a":"1"}'],
  ],
  [
    'junk between and after',
    '[{"a":"1"} x\n,{"a":"2"}]\nrubbish "\n{"a":"3"}]',
    ['1 {"a":"1"}', '1 ! got "x"', '2 {"a":"2"}', '3 ! rubbish', '4 {"a":"3"}', '4 ! got "]"'],
  ],
  [
    'broken elements',
    '[{"a":1,,},\n{"a":"x\ny"},\n{"a":[1}},\n{"a":"1"}]',
    ['1 ! not valid JSON', '2 ! not valid JSON', '4 ! not valid JSON', '5 {"a":"1"}'],
  ],
  [
    'an array that never ends',
    '[\n{"a":"1"},\n',
    ['2 {"a":"1"}', '1 ! array is not closed: the file ends at line 3'],
  ],
  ['a body that never ends', '\n{"posts":[{"a":"1"}]', ['2 {"a":"1"}', '2 ! record is not closed']],
  ['a record that never ends', '[{"a":"1"},\n{"a":"1', ['1 {"a":"1"}', '2 ! record is not closed']],
  [
    'an element with invalid UTF-8',
    invalid('[{"a":"é"},\n{"a":"', '"},{"a":"2"}]'),
    ['1 {"a":"é"}', '2 ! not valid UTF-8', '2 {"a":"2"}'],
  ],
  [
    'CSV',
    'id,username,bio\n1,ann,\n2,"b ""o"", b","x\ny"\n3,cy,z',
    [
      '2 {"id":"1","username":"ann"}',
      '3 {"id":"2","username":"b \\"o\\", b","bio":"x\\ny"}',
      '5 {"id":"3","username":"cy","bio":"z"}',
    ],
  ],
  [
    'CSV with semicolons, CR LF, a byte order mark and blank lines',
    `${BOM}\r\n"id"; username\r\n1;ä,😀\r\n\r\n2;"x\r\ny"\r\n3;z\r\n`,
    ['3 {"id":"1","username":"ä,😀"}', '5 {"id":"2","username":"x\\r\\ny"}', '7 {"id":"3","username":"z"}'],
  ],
  ['CSV with tabs, the first name empty', '\tid\tname\n\t1\ta, b; c\n', ['2 {"id":"1","name":"a, b; c"}']],
  [
    'CSV with bad rows',
    'id,name\n1\n2,a,b\n3,"c"d\n4,e"f\n5,"ok"\n6,"',
    [
      '2 ! 1 cell where',
      '3 ! 3 cells',
      '4 ! quotation mark',
      '5 {"id":"4","name":"e\\"f"}',
      '6 {"id":"5","name":"ok"}',
      '7 ! quotation mark',
    ],
  ],
  [
    'CSV with quotation marks after a delimiter of other files',
    'id,name\n1,a;"b\n2,c\t"d\n3,"e;""f"\n',
    ['2 {"id":"1","name":"a;\\"b"}', '3 {"id":"2","name":"c\\t\\"d"}', '4 {"id":"3","name":"e;\\"f"}'],
  ],
  [
    'CSV whose lines end with LF and whose cells hold CR',
    'id,name\n1,a\rb\n2,"c"\r\n3,"d"\re\n',
    ['2 {"id":"1","name":"a\\rb"}', '3 {"id":"2","name":"c"}', '4 ! quotation mark'],
  ],
  ['CSV whose lines end with CR', 'id,name\r1,a\r', ['1 ! a line feed, not with a return alone']],
  ['CSV with unknown columns, some without a name', 'id,,x,x\n1,2,3,4\n', ['2 {"id":"1","":"2","x":"4"}']],
  [
    'CSV with invalid UTF-8',
    invalid('id,name\n1,', '\n2,b\n'),
    ['2 ! not valid UTF-8', '3 {"id":"2","name":"b"}'],
  ],
  ['CSV without known names', 'foo,bar\n1,2\n', ['1 ! id,username,name, but got "foo,bar"']],
  ['CSV that names a member twice', 'id,name,id\n1,2,3\n', ['1 ! names "id" twice']],
  ['a scalar', '"hello"', ['1 ! expected JSON']],
];

describe('in chunks of any size, plain and compressed', () => {
  test.each(CASES)('%s', async (_name, content, expected) => {
    const whole = await read(content);
    expect(cutTo(expected, whole)).toEqual(expected);
    for (const size of [1, 7]) expect(await read(content, size), `chunks of ${size}`).toEqual(whole);
    const packed = gzipSync(content);
    expect(await read(packed)).toEqual(whole);
    expect(await read(packed, 1)).toEqual(whole);
  });
});

test.each([
  ['no bytes', ''],
  ['blanks', ' \n\r\n\t\n'],
  ['a byte order mark', BOM],
])('%s: there is no content', async (_name, content) => {
  for (const bytes of [Buffer.from(content), gzipSync(content)])
    await expect(readAll(bytes)).rejects.toThrow(NoContentError);
});

describe('records of more than 1 MiB', () => {
  const long = 'x'.repeat(1_100_000);
  const fits = 'x'.repeat(1_000_000);

  test.each([
    ['NDJSON', `{"a":"1"}\n{"a":"${long}"}\n{"a":"${fits}"}\n`, 2],
    ['JSON', `[{"a":"1"},\n{"a":"${long}"},\n{"a":"${fits}"}]`, 2],
    ['CSV', `id,name\n1,b\n2,${long}\n3,${fits}\n`, 3],
  ])('%s: one problem, and the other records are read', async (_name, content, line) => {
    for (const size of [1000, 65_536, 10_000_000]) {
      const all = await readAll(content, size);
      expect(all.filter((one) => 'value' in one)).toHaveLength(2);
      const problems = all.filter((one) => 'problem' in one);
      expect(problems.map((one) => [one.line, one.problem])).toEqual([[line, 'longer than 1 MiB']]);
      expect(problems[0]?.text().length).toBeLessThan(300);
    }
  });

  test('a body that is larger than any record', async () => {
    const record = `{"a":"${'x'.repeat(1000)}"}`;
    const body = `{"posts":[${Array(3000).fill(record).join(',')},]}`;
    expect((await readAll(body)).filter((one) => 'value' in one)).toHaveLength(3000);
  });
});

describe('gzip', () => {
  const two = Buffer.concat([gzipSync('{"a":"1"}\n{"a"'), gzipSync(':"2"}\n')]);

  test('several gzip members are one file', async () => {
    for (const size of [1, 5, 65_536]) expect(await read(two, size)).toEqual(['1 {"a":"1"}', '2 {"a":"2"}']);
  });

  test.each([
    ['cut off', two.subarray(0, two.length - 5), 'cut off'],
    ['corrupt', Buffer.from(two).fill(0xff, 12, 20), 'corrupt'],
    ['followed by something else', Buffer.concat([two, Buffer.from('rubbish')]), 'corrupt'],
  ])('%s: one message', async (_name, bytes, part) => {
    const refused = await read(bytes).catch((error) => error);
    expect(refused).toBeInstanceOf(FormatError);
    expect(refused.message).toContain(part);
  });
});

describe('as Excel saves it', () => {
  const table = 'id;username;skills\r\n1;Zoë;lettering, print ,\r\n';
  const seen = '{"id":"1","username":"Zoë","skills":"lettering,print,"}';
  const swapped = Buffer.from(`${BOM}${table}`, 'utf16le').swap16();
  test.each<[what: string, content: Buffer, line: number, encoding?: string]>([
    ['UTF-16', Buffer.from(`${BOM}${table}`, 'utf16le'), 2],
    ['UTF-16 for Macintosh', swapped, 2],
    ['UTF-16 with tabs, compressed', gzipSync(Buffer.from(BOM + table.replaceAll(';', '\t'), 'utf16le')), 2],
    ['a line that names the delimiter', Buffer.from(`${BOM}sep=;\r\n${table}`), 3],
    ['any delimiter', Buffer.from(`"sep=|"\r\n${table.replaceAll(';', '|')}`), 3],
    ['windows-1252', Buffer.from(table, 'latin1'), 2, 'windows-1252'],
  ])('%s', async (_, content, line, encoding) => {
    for (const size of [1, 65_536]) {
      const found: Entry[] = [];
      for await (const batch of readRecords(inChunks(content, size), { encoding })) found.push(...batch);
      expect(shown(found)).toEqual([`${line} ${seen}`]);
    }
  });

  test('another encoding than the one that is named', async () => {
    const read = readRecords(inChunks(Buffer.from([0xff, 0x41]), 1), { encoding: 'utf-8' });
    await expect(read.next()).rejects.toThrow('the text is not utf-8');
  });
});

test('a member named __proto__ is an ordinary member', async () => {
  for (const content of [
    '{"__proto__":{"x":1},"a":9007199254740993}',
    '[{"__proto__":{"x":1}}]',
    'id,__proto__\n1,x\n',
  ]) {
    const [found] = await readAll(content);
    const value = found && 'value' in found ? found.value : {};
    expect(Object.hasOwn(value, '__proto__')).toBe(true);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  }
  expect(({} as { x?: number }).x).toBeUndefined();
});

test('the source text of an entry is one line of NDJSON', async () => {
  const contents = [
    '{"a":"1",}\n{"posts":[{"a":9007199254740993}]}\n',
    '[{\n  "a": "1"\n},\n{"a":"\\n"}]',
    'id,name\n1,"a\nb"\n2\n3,"x"y\n',
  ];
  const texts: string[] = [];
  for (const content of contents) texts.push(...(await readAll(content)).map((one) => one.text()));
  expect(texts).toEqual([
    '{"a":"1",}',
    '{"a":9007199254740993}',
    '{ "a": "1" }',
    '{"a":"\\n"}',
    '{"id":"1","name":"a\\nb"}',
    '{"id":"2"}',
    '{"row":"3,\\"x\\"y"}',
  ]);
  expect((await readAll(texts.join('\n'))).every((one) => 'value' in one)).toBe(true);
});

test('hostile input takes linear time', async () => {
  const nested = `[${'{"a":['.repeat(150_000)}`;
  const quotes = `{"a":${'"\\"'.repeat(300_000)}`;
  const openQuote = `{"a":${'"\\'.repeat(300_000)}`;
  const brackets = `[{${'"a":[],'.repeat(120_000)}}]`;
  const digits = `{"a":${'9'.repeat(500_000)}}`;
  const commas = `{"a":[${', '.repeat(400_000)}`;
  const header = `id${',"'.repeat(399_999)}`;
  for (const content of [nested, quotes, openQuote, brackets, digits, commas, header])
    expect(await readAll(content)).toHaveLength(1);
});

test.each([
  ['plain', false],
  ['packed', true],
])('stopping early closes the source: %s', async (_name, packed) => {
  let closed = false;
  const lines = Buffer.from('{"a":"1"}\n'.repeat(50_000));
  const bytes = packed ? gzipSync(lines, { level: 0 }) : lines;
  const source = (async function* () {
    try {
      for (;;) yield bytes;
    } finally {
      closed = true;
    }
  })();
  for await (const _batch of readRecords(source)) break;
  await new Promise(setImmediate);
  expect(closed).toBe(true);
});

test('a chunk is read only after the batches of the previous chunk were taken, and batches are small', async () => {
  let given = 0;
  const source = (async function* () {
    for (; given < 10; given++) yield Buffer.from('{}\n'.repeat(5000));
  })();
  const batches = readRecords(source);
  for (let taken = 0; taken < 5; taken++) expect((await batches.next()).value).toHaveLength(1000);
  expect(given).toBeLessThanOrEqual(2);
  await batches.return(undefined);
});

test('csv-spectrum', async () => {
  const folder = join(ROOT, 'node_modules/csv-spectrum');
  const names = readdirSync(join(folder, 'csvs')).map((file) => file.replace('.csv', ''));
  expect(names.length).toBeGreaterThan(10);
  // CSV is recognised by the names in its header, so these replace the names of the columns.
  const MEMBERS = ['id', 'username', 'name', 'bio', 'location'];
  for (const name of names) {
    const json = JSON.parse(readFileSync(join(folder, 'json', `${name}.json`), 'utf8'));
    // One of them is an object, with a telephone number that is not the one of its CSV.
    const rows = Array.isArray(json) ? json : [{ ...json, 'Contact Phone Number': '2095257564' }];
    const columns = Object.keys(rows[0]);
    const members = MEMBERS.slice(0, columns.length);
    const csv = readFileSync(join(folder, 'csvs', `${name}.csv`), 'latin1');
    const all = await readAll(Buffer.from(csv.replace(/^[^\r\n]*/, members.join()), 'latin1'));
    // An empty cell is an absent member.
    const cells = all.map((one) =>
      members.map((member) => ('value' in one ? (one.value[member] ?? '') : one)),
    );
    expect([name, cells]).toEqual([name, rows.map((row) => columns.map((column) => row[column] ?? ''))]);
  }
});
