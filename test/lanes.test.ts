// `npm test` needs no program besides Node: what starts a browser, nginx or PostgreSQL lies in test/slow.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './rig.ts';

const RIGS = /from '\.\/(programs|browser|browser-launch|nginx|nginx-any|postgres-rig)\.ts'/;

test.each(globSync('test/*.test.ts', { cwd: ROOT }))('%s needs no other program', (file) => {
  expect(readFileSync(join(ROOT, file), 'utf8')).not.toMatch(RIGS);
});
