// `import --map`: a module of the operator makes records of objects of any shape.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ImportOptions } from '../src/import/import.ts';
import { loadMap } from '../src/import/map.ts';
import { ndjson, readLines, tempFile, tempFolder } from './files.ts';
import { into, newPath, recordsIn, tally } from './importing.ts';
import { blog, post } from './records.ts';
import { spawned, tryImport } from './rig.ts';

const PEOPLE = `export default ({ who, ...rest }) => ({ totalPost: 0, username: who, ...rest });\n`;

/** Imports in this process: the records and the lines of the faults, or the sentence of an error. */
async function importWith(module: string, input: string | Buffer, options: Partial<ImportOptions> = {}) {
  const path = newPath();
  const map = tempFile('people.mjs', module);
  try {
    const imported = await tryImport(path, ['-'], input, { map, ...options });
    const records = existsSync(path) ? (await recordsIn(path)).map((line) => JSON.parse(line)) : [];
    return { ...imported, records, error: '' };
  } catch (error) {
    return { tallies: undefined, faults: [], records: [], error: (error as Error).message };
  }
}

/** Imports in a process: the tests' own module loader shows other errors than Node's. */
const runWith = (module: string, input = ndjson(blog(1, 'one'))) =>
  spawned(['import', '--database-url', newPath(), '--map', tempFile('people.mjs', module), '-'], { input });

/** The objects that a map is given, without a process. */
async function objectsOf(content: string, lists: readonly string[], pieceLength = content.length) {
  const map = await loadMap(
    tempFile(
      'all.mjs',
      `export const lists = ${JSON.stringify(lists)};\nexport default (object) => ({ object });\n`,
    ),
  );
  const bytes = Buffer.from(content);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceLength) yield bytes.subarray(at, at + pieceLength);
  }
  const found: unknown[] = [];
  for await (const batch of map.read(pieces(), 'all'))
    for (const entry of batch)
      found.push('problem' in entry ? `${entry.line}: ${entry.problem}` : [entry.line, entry.value.object]);
  return found;
}

describe('what a map may return', () => {
  const bodies: [what: string, module: string, users: string[]][] = [
    ['one record', PEOPLE, ['ada', 'nikos']],
    [
      'several, or none',
      `export default ({ id, who }) => id === 1 ? [] : [1, 2].map((n) => ({ totalPost: 0, id: n, username: who + n }));`,
      ['nikos1', 'nikos2'],
    ],
    [
      'more at the end',
      `let all = 0;
       export default () => { all++; };
       export const end = (kit) => ({ totalPost: all, id: kit.id('all'), username: 'all' });`,
      ['all'],
    ],
  ];
  test.each(bodies)('%s', async (_, module, users) => {
    const input = ndjson({ id: 1, who: 'ada' }, { id: 2, who: 'nikos' });
    const { faults, error, records } = await importWith(module, input);
    expect([faults, error]).toEqual([[], '']);
    expect(records.map(({ username }) => username).sort()).toEqual(users);
  });

  test('ISO dates, arrays and numbers are taken as they are without a map', async () => {
    const module = `export default (object) => [
      { totalShots: 0, id: 1, username: 'ada', skills: object.words },
      { id: 2n, user_id: 1, date: object.at, tags: object.words, price_item: object.price, id_project: object.big }];`;
    const input = '{"words":["a"," b "],"at":"2026-02-28T10:00:00Z","price":9.90,"big":9007199254740993}';
    const { records } = await importWith(module, input);
    expect(records).toContainEqual(
      expect.objectContaining({
        ...{ id: '2', date: '2026-02-28 10:00:00', tags: 'a,b' },
        ...{ price_item: '9.90', id_project: '9007199254740993' },
      }),
    );
  });

  test('the command line names the map; other options go with it', async () => {
    const map = tempFile('people.mjs', 'export default ({ id, who }) => ({ id, username: who });');
    const input = ndjson({ id: 1, who: 'ada' });
    const flags = ['--family', 'portfolio', '--replace', '--map', map, '-'];
    const path = newPath();
    const tried = await into(path, ['--dry-run', ...flags], { input });
    const { code, stdout } = await into(path, flags, { input });
    expect([code, tally(stdout, 'portfolio profiles')]).toEqual([0, [1, 0, 0, 0]]);
    expect(tried.stdout).toBe(`${stdout}dry run: nothing was changed\n`);
  });
});

describe('faults name line, member and what the map returned', () => {
  test.each<[what: string, module: string, fault: RegExp]>([
    [
      'a bad member',
      PEOPLE,
      /^standard input:2: verified: must be at most 40 decimal digits, got "yes"; the map returned {"totalPost":0,"username":"nikos","id":2,"verified":"yes"}$/m,
    ],
    [
      'no record',
      `export default ({ id, who }) => id === 2 ? who : undefined;`,
      /^standard input:2: record: a map returns a record, an array of records, or nothing, and this one returned a string$/m,
    ],
    [
      'an error of the kit',
      `export default ({ id }, kit) => { if (id === 2) kit.date('soon'); };`,
      /^standard input:2: record: the map threw: not a date: "soon"/m,
    ],
    [
      'a rejected promise',
      `export default async ({ id }) => { if (id === 2) throw 'no such user'; };`,
      /^standard input:2: record: the map threw: no such user$/m,
    ],
    [
      'an unknown owner',
      `export default ({ id }) => id === 2 ? { id, user: 99, date: '2026-02-28T10:00:00Z' } : [];`,
      /^standard input:2: user: unknown owner of item 2: .*, got "99"; the map returned {"id":"2",.*}$/m,
    ],
  ])('%s', async (_, module, fault) => {
    const input = ndjson({ id: 1, who: 'ada' }, { id: 2, who: 'nikos', verified: 'yes' });
    const { tallies, faults, records } = await importWith(module, input);
    expect([tallies, records, faults.length]).toEqual([undefined, [], 1]);
    expect(faults[0]).toMatch(fault);
  });

  test('an error is shown with its line in the module', async () => {
    const { code, stderr } = await runWith('export default (object) => {\n  object.media.url;\n};');
    expect([code, stderr]).toEqual([
      1,
      "standard input:1: record: the map threw: TypeError: Cannot read properties of undefined (reading 'url') (people.mjs:2)\n" +
        'vitrine: nothing was imported: 1 of 1 record is wrong\n',
    ]);
  });

  test.each<[what: string, module: string]>([
    ['the last promise', "export const end = () => void Promise.reject('late');\nexport default () => {};"],
    [
      'a timer',
      "export default async ({ id }) => {\n  if (id === 2) setTimeout(() => { throw new Error('late'); });\n  await new Promise((resolve) => setTimeout(resolve, 5));\n};",
    ],
  ])('an error that is left behind by %s ends the import', async (_, module) => {
    const { code, stdout, stderr } = await runWith(module, ndjson({ id: 1 }, { id: 2 }));
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^vitrine: an error that nothing caught: [^\n]*late[^\n]*\n$/);
  });

  test('an object that the map changes is saved as it was', async () => {
    const rejects = join(tempFolder(), 'bad.ndjson');
    const module = `export default (row) => { row.self = row; delete row.who; throw new Error('x'); }`;
    for (const [input, saved] of [
      ['id,who\n1,ada\n', '{"id":"1","who":"ada"}'],
      ['{"posts":[{"id":1,"who":9.90}]}', '{"id":1,"who":9.90}'],
    ] as const) {
      await importWith(module, input, { skipInvalid: true, rejects });
      expect(readLines(rejects)).toEqual([saved]);
    }
  });

  test('a map knows the file and the line of the object', async () => {
    const file = tempFile('3jui7.json', '\n{"name":"ada"}');
    const module = `export default ({ name }, kit) => ({ totalPost: 0, id: kit.line(), username: name, bio: kit.file() });`;
    const { records } = await importWith(module, '', { files: [file] });
    expect(records).toMatchObject([{ id: '2', username: 'ada', bio: file }]);
  });

  test('--rejects saves what the map returned, or the object on which it threw', async () => {
    const rejects = join(tempFolder(), 'bad.ndjson');
    const module = `export default ({ n, ...record }) => { if (n === 3) throw new Error('three'); return record; };`;
    const bad = [
      { n: 2, ...blog(2, 'two', { verified: 'yes' }) },
      { n: 3, id: 3 },
      { n: 4, ...post(4, 99) },
    ];
    const input = ndjson({ n: 1, ...blog(1, 'one') }, ...bad);
    const { records } = await importWith(module, input, { skipInvalid: true, rejects });
    expect(records).toMatchObject([{ username: 'one' }]);
    expect(readLines(rejects).map((line) => JSON.parse(line))).toEqual([
      blog(2, 'two', { verified: 'yes' }),
      { n: 3, id: 3 },
      expect.objectContaining(post(4, 99)),
    ]);
  });
});

describe('a module that cannot be used', () => {
  test.each<[what: string, module: string, sentence: RegExp]>([
    [
      'without a default function',
      'export const map = () => {};',
      /people\.mjs has no default function: export default \(object, kit\) => …$/,
    ],
    [
      'with lists of numbers',
      'export const lists = [1];\nexport default () => {};',
      /people\.mjs: lists must be an array of names/,
    ],
  ])('%s', async (_, module, sentence) => {
    expect((await importWith(module, '{}')).error).toMatch(sentence);
  });

  test.each<[what: string, module: string, sentence: RegExp]>([
    [
      'that throws',
      `throw new Error('not today');`,
      /people\.mjs cannot be loaded: not today \(people\.mjs:1\)$/,
    ],
    [
      'whose end throws',
      `export const end = () => { throw new Error('x'); };\nexport default () => {};`,
      /the end function of the map threw: x \(people\.mjs:1\)$/,
    ],
  ])('%s', async (_, module, sentence) => {
    const { code, stdout, stderr } = await runWith(module);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^vitrine: [^\n]+\n$/);
    expect(stderr.trimEnd()).toMatch(sentence);
  });

  test('that does not exist', async () => {
    const { code, stderr } = await into(newPath(), ['--map', '/nowhere/map.mjs', '-']);
    expect([code, stderr]).toEqual([1, 'vitrine: /nowhere/map.mjs does not exist\n']);
  });

  test.each([['that is never settled', 'export default () => new Promise(() => {});']])(
    '%s: the command ends, and says so',
    async (_, module) => {
      const { code, stderr } = await runWith(module);
      expect([code, stderr]).toEqual([
        1,
        'vitrine: nothing was done: a promise, such as one of a map, is never settled\n',
      ]);
    },
  );

  test('that ends the process: the exit code is no success', async () => {
    expect((await runWith('export default () => process.exit();')).code).toBe(1);
  });
});

describe('the objects that a map is given', () => {
  test('every object of a Twitter archive', async () => {
    const archive = 'window.YTD.tweets.part0 = [\n{"tweet":{"id":"1"}},\n{"tweet":{"id":"2"}}]\n';
    for (const pieceLength of [1, 7, 100])
      expect(await objectsOf(archive, [], pieceLength)).toEqual([
        [2, { tweet: { id: '1' } }],
        [3, { tweet: { id: '2' } }],
      ]);
  });

  test('every line of NDJSON, every object of an array, every row of a table with any header', async () => {
    expect(await objectsOf('{"a":1}\n\n{"a":[2]}\n', [])).toEqual([
      [1, { a: 1 }],
      [3, { a: [2] }],
    ]);
    expect(await objectsOf('[{"a":1},\n{"a":2}]', [])).toEqual([
      [1, { a: 1 }],
      [2, { a: 2 }],
    ]);
    expect(await objectsOf('uuid;Full name\nf1;Ada\nf2;\n', [])).toEqual([
      [2, { uuid: 'f1', 'Full name': 'Ada' }],
      [3, { uuid: 'f2' }],
    ]);
    expect(await objectsOf('uuid,uuid\n1,2\n', [])).toEqual([expect.stringContaining('"uuid" twice')]);
  });

  test('numbers whose digits JavaScript would change are texts', async () => {
    const input = '{"a":9.90,"b":0.5,"c":9007199254740993,"d":[1e2],"e":{"f":-7}}';
    expect(await objectsOf(input, [])).toEqual([
      [1, { a: '9.90', b: 0.5, c: '9007199254740993', d: ['1e2'], e: { f: -7 } }],
    ]);
  });

  // Each piece length cuts names and lists elsewhere.
  test.each([1, 7, 1000])('the lists in a JSON object, in pieces of %i bytes', async (length) => {
    const input = `{"@context":["x",{"items":["y"]}],"items" : {"items":[{"no":1}]},
      "note":"\\"items\\":[", "items": [{"n":1,"items":[{"no":2}]},
      {"n":2}] , "more": {"a":[]}, "others":\n[{"n":3}],"items":[]}
      {"no":"list"} {"others":[{"n":4},5]}`;
    expect(await objectsOf(input, ['items', 'others'], length)).toEqual([
      [2, { n: 1, items: [{ no: 2 }] }],
      [3, { n: 2 }],
      [4, { n: 3 }],
      [5, { no: 'list' }],
      [5, { n: 4 }],
      expect.stringMatching(/^5: expected a record, a JSON object, but got "5"/),
    ]);
  });

  test('a list that is cut off', async () => {
    expect(await objectsOf('{"items":[{"n":1},', ['items'])).toEqual([
      [1, { n: 1 }],
      '1: this array is not closed: the file ends at line 1',
    ]);
    expect(await objectsOf('{"items":[{"n":1}],"a":', ['items'])).toEqual([
      [1, { n: 1 }],
      '1: this record is not closed: the file ends at line 1',
    ]);
  });
});

describe('XML', () => {
  const XML = `<?xml version="1.0" encoding="UTF-8" ?>
<rss version="2.0"><channel><title>Not asked for</title>
  <item>
    <title>One &amp; two</title><link/>
    <wp:id>7</wp:id>
    <content:encoded><![CDATA[<p>a ]] > b</p>]]></content:encoded>
    <category domain="tag" nicename="x">X</category>
    <category domain="tag">Y</category>
    <meta><key>k</key><value>1</value></meta>
  </item><item/>
  <author>Ada</author>
</channel></rss>
`;
  test.each([1, 7, 1000])('elements become objects, in pieces of %i bytes', async (length) => {
    expect(await objectsOf(XML, ['item', 'author'], length)).toEqual([
      [
        3,
        {
          title: 'One & two',
          link: '',
          'wp:id': '7',
          'content:encoded': '<p>a ]] > b</p>',
          category: [
            { '@domain': 'tag', '@nicename': 'x', '#text': 'X' },
            { '@domain': 'tag', '#text': 'Y' },
          ],
          meta: { key: 'k', value: '1' },
        },
      ],
      [10, { '#text': '' }],
      [11, { '#text': 'Ada' }],
    ]);
  });

  test.each<[what: string, xml: string | Buffer, lists: string[], sentence: string]>([
    ['without lists', XML, [], 'the map must name the elements'],
    ['that is cut off', XML.slice(0, 400), ['item'], 'is not closed: the XML is cut off'],
    [
      'that is not UTF-8',
      Buffer.from('<a>\n<item>\xe9</item></a>', 'latin1'),
      ['item'],
      'not valid UTF-8 from line',
    ],
  ])('%s is refused with a sentence', async (_, xml, lists, sentence) => {
    const module = `export const lists = ${JSON.stringify(lists)};\nexport default () => {};`;
    const { error } = await importWith(module, Buffer.from(xml));
    expect(error).toMatch(/^standard input: [^\n]+$/);
    expect(error).toContain(sentence);
  });

  test('an element that is too long is a fault of its line', async () => {
    const xml = `<a>\n<item>${'x'.repeat(2 ** 20 + 1)}</item>\n<item>y</item>${'<b/>'.repeat(3)}</a>`;
    expect(await objectsOf(xml, ['item'], 65_536)).toEqual([
      '2: <item> is longer than 1 MiB',
      [3, { '#text': 'y' }],
    ]);
  });

  test('needs a map', async () => {
    const { code, stderr } = await into(newPath(), ['-'], { input: XML });
    expect([code, stderr]).toEqual([1, expect.stringContaining('XML needs a map')]);
  });
});
