// Imports update, replace or skip records, or change nothing.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectedRecord, type Raw } from './expected.ts';
import { ndjson, readLines, readRecords, tempFolder, ugly } from './files.ts';
import { into, newPath, recordsIn, tally } from './importing.ts';
import { blog, post } from './records.ts';
import { importInto } from './rig.ts';

test('the header of a CSV tells the kind of profiles whose cells are empty', async () => {
  const path = newPath();
  expect((await into(path, ['-'], { input: 'id,username,skills\n1,ada,\n' })).code).toBe(0);
  const profile = expectedRecord('portfolio profile', { id: 1, username: 'ada' });
  expect(await recordsIn(path)).toEqual([JSON.stringify(profile)]);
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
