// The two lanes: `npm test` needs only Node; tests with a browser, a proxy or PostgreSQL are in test/slow.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { PAGES, readPage } from './pages.ts';
import { ROOT } from './rig.ts';

const RIGS = /from '\.\/(programs|browser|browser-launch|nginx|nginx-any|postgres-rig)\.ts'/;
const quick = globSync('test/*.test.ts', { cwd: ROOT });
const slow = globSync('test/slow/*.test.ts', { cwd: ROOT });

test.each(quick)('%s needs no other program', (file) => {
  expect(readFileSync(join(ROOT, file), 'utf8')).not.toMatch(RIGS);
});

test.each(PAGES)('every test that %s names exists', (page) => {
  const named = [...readPage(page).matchAll(/[\w-]+\.test\.ts/g)].map(([name]) => name);
  const names = [...quick, ...slow].map((file) => basename(file));
  expect(named.filter((name) => !names.includes(name))).toEqual([]);
});
