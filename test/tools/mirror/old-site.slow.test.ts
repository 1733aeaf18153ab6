// An old PHP site is mirrored.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { atEnd } from '../../support/at-end.ts';
import { ROOT, tempFile, tempFolder } from '../../support/files.ts';
import { freePort } from '../../support/free-port.ts';
import { newPath, recordsIn } from '../../support/importing.ts';
import { mirror } from '../../support/mirror-site.ts';
import { pathOf, skipWithout } from '../../support/programs.ts';
import { until } from '../../support/stress.ts';

const USERS = Array.from({ length: 302 }, (_, index) => `user${index + 1}`);
const MENDING = ['--lenient', '--unescape'];

let site: string;
/** The records as the mirror has them. */
let records: string[];

const names = () => tempFile('names.txt', USERS.join('\n'));

/** The first records that only one of them has. */
const difference = (some: string[], others: string[]) =>
  [...some.filter((one) => !others.includes(one)), ...others.filter((one) => !some.includes(one))].slice(
    0,
    2,
  );

async function startOldSite(): Promise<string> {
  const port = await freePort();
  const php = spawn(pathOf('php'), ['-S', `127.0.0.1:${port}`, join(ROOT, 'test/support/old-site.php')], {
    stdio: 'ignore',
  });
  atEnd(() => void php.kill());
  const url = `http://127.0.0.1:${port}`;
  await until('PHP answers', () => fetch(url).then(Boolean, () => false));
  return url;
}

describe.skipIf(skipWithout('php'))('an old PHP site', () => {
  beforeAll(async () => {
    site = await startOldSite();
    const database = newPath();
    const { code, stdout } = await mirror(database, 'b', site, '--users', names(), ...MENDING);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^users: 302 found, .* 0 failed\n/),
    });
    records = await recordsIn(database);
  });

  test('302 of 302 users are mirrored, those who failed with --lenient from the --failed file', async () => {
    const database = newPath();
    const [failed, left] = ['failed.txt', 'left.txt'].map((name) => join(tempFolder(), name)) as [
      string,
      string,
    ];
    const strict = await mirror(database, 'b', site, '--users', names(), '--unescape', '--failed', failed);
    expect(strict).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^users: 155 found, .* 147 failed\n/),
    });
    expect(readFileSync(failed, 'utf8')).toMatch(/^user\d+\thttp.*: .* must be /);
    const lenient = await mirror(database, 'b', site, '--users', failed, '--failed', left, ...MENDING);
    expect(lenient).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^users: 147 found, .* 0 failed\nleft empty: .*attachment \d+ times.*\n\d+ texts read as HTML\n/,
      ),
    });
    expect(readFileSync(left, 'utf8')).toBe('');
    expect(difference(await recordsIn(database), records)).toEqual([]);
    expect(records.join()).toContain(`Tom & \\"Jerry\\" O'Neill 302`);
  });
});
