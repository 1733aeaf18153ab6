// `import --dry-run`, and the warnings of an import.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fixture, ndjson, readLines, tempFile, tempFolder } from './files.ts';
import { into, newPath, recordsIn, tally } from './importing.ts';
import { blog, folio, post, shot } from './records.ts';
import { databaseOf } from './rig.ts';

describe('--dry-run', () => {
  const OLD = [blog(1, 'one'), blog(2, 'two'), post(7, 1)];
  const NEW = ndjson(blog(1, 'one', { bio: 'new' }), blog(3, 'three'), post(8, 3));

  test('creates no database', async () => {
    const path = newPath();
    const { code, stdout } = await into(path, ['--dry-run', fixture('microblog.ndjson')]);
    const done = await into(newPath(), [fixture('microblog.ndjson')]);
    expect([code, stdout]).toEqual([0, `${done.stdout}dry run: nothing was changed\n`]);
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test('migrates nothing', async () => {
    const path = tempFile('older.db', readFileSync(fixture('older/schema-4.db')));
    const before = readFileSync(path);
    const { code, stderr } = await into(path, ['--dry-run', '-'], { input: NEW });
    expect([code, stderr]).toEqual([1, expect.stringContaining('has an older schema')]);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('reports faults, and saves the faulty records', async () => {
    const path = await databaseOf(...OLD);
    const before = await recordsIn(path);
    const rejects = join(tempFolder(), 'bad.ndjson');
    const input = ndjson(blog(4, 'four'), post(9, 99));
    const refused = await into(path, ['--dry-run', '-'], { input });
    expect(refused).toEqual(await into(path, ['-'], { input }));
    const skipping = ['--dry-run', '--skip-invalid', '--rejects', rejects, '-'];
    const skipped = await into(path, skipping, { input });
    expect([skipped.code, tally(skipped.stdout, 'microblog profiles')]).toEqual([0, [1, 0, 0, 0]]);
    expect(skipped.stdout).toContain('1 left out');
    expect(readLines(rejects)).toHaveLength(1);
    expect(await recordsIn(path)).toEqual(before);
  });
});

describe('warnings', () => {
  const warningsOf = async (...records: object[]) => {
    const { code, stderr } = await into(newPath(), ['-'], { input: ndjson(...records) });
    expect(code).toBe(0);
    return stderr.split('\n').filter(Boolean);
  };

  test('user names with @ in front: how many, and both spellings of the first', async () => {
    expect(await warningsOf(blog(1, 'one'), blog(2, '@two'), folio(1, '@three'))).toEqual([
      'warning: user names that begin with @: 2. The first is standard input:2: "@two" is found as "@two", not as "two"',
    ]);
  });

  test('user names with invisible characters or unusual forms', async () => {
    const names = ['one', 'Ada Lovelace', 'Νίκος', 'two\u200b', 'ｔwo', ' two'];
    expect(await warningsOf(...names.map((name, index) => blog(index + 1, name)))).toEqual([
      expect.stringMatching(
        /^warning: user names with invisible characters, unusual forms or spaces: 3. The first is standard input:4: "two.*", which looks like "two"$/,
      ),
    ]);
  });

  test('HTML in texts: how many records, and the first', async () => {
    expect(
      await warningsOf(
        blog(1, 'one', { bio: 'a < b, I <3 it, <https://a.example>, R&D, AT&T;' }),
        post(7, 1, { post_details: '<p>Hello <br/> there</p>', video_title: '<b>x</b>' }),
        post(8, 1, { photo: 'https://a.example/?a=1&b=2', post_details: 'Tom &amp; Jerry' }),
        folio(1, 'one', { bio: 'see <a href="https://a.example">this</a>' }),
        shot(9, 1, { description: '<!-- wp:paragraph -->', title: 'plain' }),
      ),
    ).toEqual([
      'warning: records with HTML in texts, which are served as they are: 4. The first is standard input:2: post_details, "<p>Hello <br/> there</p>"',
    ]);
  });

  test('none for plain records', async () => {
    expect(await warningsOf(blog(1, 'one@two', { bio: '@three' }), post(7, 1))).toEqual([]);
  });
});
