// The two lanes: `npm test` needs only Node; tests with a browser, a proxy or PostgreSQL are in test/slow.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { PAGES, readPage } from './pages.ts';
import { ROOT } from './rig.ts';

const RIGS = /from '\.\/(programs|browser|browser-launch|nginx|nginx-any|postgres-rig)\.ts'/;
const quick = globSync('test/*.test.ts', { cwd: ROOT });
const slow = globSync('test/slow/*.test.ts', { cwd: ROOT });

test('tests of the quick lane need no other program', () => {
  expect(quick.filter((file) => RIGS.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([]);
});

test('every test that a page names exists', () => {
  const names = [...quick, ...slow].map((file) => basename(file));
  const lost = PAGES.flatMap((page) =>
    [...readPage(page).matchAll(/[\w-]+\.test\.ts/g)]
      .filter(([name]) => !names.includes(name))
      .map(([name]) => `${page} names ${name}`),
  );
  expect(lost).toEqual([]);
});
