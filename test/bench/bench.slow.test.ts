// The benchmark runs: every server responds correctly, and each part measures something. Results are not judged.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { ROOT, tempFolder } from '../support/files.ts';
import { havePostgres } from '../support/postgres-rig.ts';
import { skipWithout } from '../support/programs.ts';
import { createContenders } from './contenders.ts';
import { COSTS } from './costs.ts';
import { GROUP_NAMES, startGroup } from './lookups.ts';
import { check } from './measure.ts';
import { stopAll } from './servers.ts';

const contenders = createContenders(tempFolder(), 40);
afterAll(stopAll);

test('every server of a group gives the same response', async () => {
  for (const group of GROUP_NAMES) {
    const rows = await startGroup(group, contenders);
    const names = rows.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { p99 } of rows) expect(names).toContain(p99?.base ?? names[0]);
    await check(rows);
  }
});

test.each(Object.entries(COSTS))('%s is measured', async (_, measureCost) => {
  for (const { what, figure } of await measureCost(contenders, 1)) expect(figure, what).toBeGreaterThan(0);
});

test.skipIf(skipWithout('wrk'))(
  'a run prints a table with its promises, and exits with 1 if one is missed',
  async () => {
    const { code, stdout, stderr } = await bench(
      '--only',
      '404 unknown user',
      '--users',
      '40',
      '--rounds',
      '1',
    );
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^\| {2}\| \*\*Vitrine, unknown users\*\* .* \*\*≤ 2\.6\*\* \|$/m);
    expect(stdout).not.toMatch(/NaN|undefined/);
    expect(code).toBe(/^MISSED|busy/m.test(stdout) ? 1 : 0);
  },
);

test('the scale of every command is measured, for users of any number', async () => {
  const { code, stdout, stderr } = await bench('--only', 'scale', '--users', '300');
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).not.toMatch(/NaN|undefined/);
  for (const row of [
    'import: CPU, memory',
    'restore',
    'restore over the same data',
    'export',
    'media fetch',
    'media fetch with nothing new',
    'takedown of one user',
    'migrate from version 1.0: CPU, memory',
    ...(havePostgres ? ['PostgreSQL, takedown of one user: CPU with the server'] : []),
  ])
    expect(stdout).toMatch(new RegExp(`^\\| ${row} \\| .+ \\|$`, 'm'));
});

test('only a complete run is published', async () => {
  const { code, stderr } = await bench('--publish', '--only', 'wire');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^--publish writes a whole run: .*\n$/)]);
});

async function bench(...args: string[]) {
  const command = ['test/bench/main.ts', ...args];
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, command, { cwd: ROOT })) };
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string };
  }
}
