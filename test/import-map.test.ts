// `import --map`: a module of the operator makes records of objects of any shape.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ImportOptions } from '../src/import/import.ts';
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
        id: '2',
        date: '2026-02-28 10:00:00',
        tags: 'a,b',
        price_item: '9.90',
        id_project: '9007199254740993',
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
      /^standard input:2: verified: must be a whole number, not negative, of at most 40 digits, got "yes"; the map returned {"totalPost":0,"username":"nikos","id":2,"verified":"yes"}$/m,
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

test('numbers whose digits JavaScript would change are given to a map as texts', async () => {
  const module = `export default (object) => ({ totalPost: 0, id: 1, username: JSON.stringify(object) });`;
  const { records } = await importWith(
    module,
    '{"a":9.90,"b":0.5,"c":9007199254740993,"d":[1e2],"e":{"f":-7}}',
  );
  const given = '{"a":"9.90","b":0.5,"c":"9007199254740993","d":["1e2"],"e":{"f":-7}}';
  expect(records).toMatchObject([{ username: given }]);
});

test('an XML element that is too long is a fault of its line', async () => {
  const xml = `<a>\n<item>${'x'.repeat(2 ** 20 + 1)}</item>\n<item>y</item>${'<b/>'.repeat(3)}</a>`;
  const module = `export const lists = ['item'];
    export default (item) => ({ totalPost: 0, id: 1, username: item['#text'] });`;
  const { faults, records } = await importWith(module, xml, { skipInvalid: true });
  expect(faults).toEqual(['standard input:2: record: <item> is longer than 1 MiB']);
  expect(records).toMatchObject([{ username: 'y' }]);
});
