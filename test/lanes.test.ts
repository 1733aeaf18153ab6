// The two lanes: `npm test` needs only Node; tests with a browser, a proxy or PostgreSQL are in test/slow.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { PAGES, readPage } from './pages.ts';
import { ROOT } from './rig.ts';

const RIGS = /from '\.\/(programs|browser|browser-launch|nginx-any|fronts|postgres-rig)\.ts'/;
const quick = globSync('test/*.test.ts', { cwd: ROOT });
const slow = globSync('test/slow/*.test.ts', { cwd: ROOT });

test('tests of the quick lane need no other program', () => {
  expect(quick.filter((file) => RIGS.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([]);
});

test('files that change modules of src/ share no modules with others', () => {
  const changes = /\bvi\.mock\(|more-variants\.ts'/;
  const alone = quick.filter((file) => changes.test(readFileSync(join(ROOT, file), 'utf8')));
  const config = readFileSync(join(ROOT, 'test/vitest.config.ts'), 'utf8');
  expect(/^const ALONE = (.*);$/m.exec(config)?.[1]).toBe(`['${alone.sort().join("', '")}']`);
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
