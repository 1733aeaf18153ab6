// Imports update, replace or skip records, or change nothing.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Raw } from './expected.ts';
import { into, newPath, recordsIn, tally } from './importing.ts';
import { blog, folio, post } from './records.ts';
import { databaseOf, importInto, ndjson, readLines, readRecords, tempFile, tempFolder, ugly } from './rig.ts';

test('--replace removes records missing from the files, in their families only', async () => {
  const path = await databaseOf(
    tempFile('all.ndjson', ndjson(blog(1, 'one'), blog(2, 'two'), post(1, 1), post(2, 2), folio(1, 'one'))),
  );
  const input = ndjson(blog(2, 'two'), blog(3, 'one'), post(2, 2), post(9, 3));
  expect(await into(path, ['--replace', '-'], { input })).toMatchObject({
    code: 1,
    stderr:
      'vitrine: --replace would remove 1 of 2 microblog profiles and 1 of 2 posts, and may remove 20%: is the input complete? `--max-removed 100%` allows it.\n',
  });
  const { code, stdout } = await into(path, ['--replace', '--max-removed', '50%', '-'], { input });
  expect(code).toBe(0);
  expect(tally(stdout, 'microblog profiles')).toEqual([1, 0, 1, 1]);
  expect(tally(stdout, 'posts')).toEqual([1, 0, 1, 1]);
  expect(await recordsIn(path)).toHaveLength(5);
});

describe('--skip-invalid', () => {
  test('imports the good records and saves the others, which can be corrected and imported', async () => {
    const path = newPath();
    const rejects = join(tempFolder(), 'bad.ndjson');
    const bad = [blog(2, 'two', { verified: 'yes' }), post(8, 2), blog(3, 'ONE')];
    const input = ndjson(blog(1, 'one'), ...bad, post(9, 1));
    const { code, stdout, stderr } = await into(path, ['--skip-invalid', '--rejects', rejects, '-'], {
      input,
    });
    expect(code).toBe(0);
    expect(stderr.trimEnd().split('\n')).toHaveLength(3);
    expect(stdout).toContain('3 left out');
    expect(tally(stdout, 'microblog profiles')).toEqual([1, 0, 0, 0]);
    const kept = readRecords(rejects);
    expect(kept.map(({ id }) => id).sort()).toEqual(['2', '3', '8']);
    const mend = (raw: Raw) => {
      if (raw.id === '2') return { ...raw, verified: '1' };
      return raw.id === '3' ? { ...raw, username: 'three' } : raw;
    };
    const mended = ndjson(...kept.map(mend));
    await importInto(path, ['-'], mended);
    expect(await recordsIn(path)).toHaveLength(5);
  });

  test('saves faulty lines unchanged', async () => {
    const rejects = join(tempFolder(), 'bad.ndjson');
    const { code, stdout } = await into(newPath(), [
      '--skip-invalid',
      '--rejects',
      rejects,
      ugly('invalid.ndjson'),
      ugly('date-ties.ndjson'),
    ]);
    expect([code, tally(stdout, 'posts')]).toEqual([0, [25, 0, 0, 0]]);
    expect(readLines(rejects)).toEqual(readLines(ugly('invalid.ndjson')));
    expect(stdout).toContain(`${readLines(rejects).length} left out`);
  });
});
