// The two lanes: `npm test` needs only Node; tests with a browser, a proxy or PostgreSQL are in test/slow.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './files.ts';

const RIGS = /from '\.\/(programs|browser|browser-launch|nginx-any|fronts|postgres-rig)\.ts'/;
const quick = globSync('test/*.test.ts', { cwd: ROOT });

test('tests of the quick lane need no other program', () => {
  expect(quick.filter((file) => RIGS.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([]);
});

test('files that change modules of src/ share no modules with others', () => {
  const changes = /\bvi\.mock\(|more-variants\.ts'/;
  const alone = quick.filter((file) => changes.test(readFileSync(join(ROOT, file), 'utf8')));
  const config = readFileSync(join(ROOT, 'test/vitest.config.ts'), 'utf8');
  expect(/^const ALONE = (.*);$/m.exec(config)?.[1]).toBe(`['${alone.sort().join("', '")}']`);
});
