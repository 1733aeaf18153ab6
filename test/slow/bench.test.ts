// The benchmark runs: every server responds correctly, and each part measures something. Results are not judged.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { COSTS } from '../bench/costs.ts';
import { version } from '../bench/load.ts';
import { createStage, GROUPS, type Group, startGroup } from '../bench/lookups.ts';
import { check } from '../bench/measure.ts';
import { stopAll } from '../bench/processes.ts';
import { ROOT, tempFolder } from '../rig.ts';

const MINUTE = 60_000;

test(
  'every server responds correctly',
  async () => {
    const stage = createStage(tempFolder(), { users: 40, profiles: 60 });
    try {
      for (const group of Object.keys(GROUPS) as Group[]) {
        const rows = await startGroup(group, stage);
        for (const row of rows) await check(row);
        const names = rows.map(({ name }) => name);
        expect(new Set(names).size).toBe(names.length);
        for (const { base, p99 } of rows)
          expect(names).toEqual(expect.arrayContaining([base, p99?.base ?? base]));
      }
    } finally {
      await stopAll();
    }
  },
  2 * MINUTE,
);

// Nothing is judged, so that they may disturb each other.
test.skipIf(!version('wrk', '-v')).concurrent.each(['404 unknown user', ...Object.keys(COSTS)])(
  '%s prints a line for each promise, and exits with 1 if one is missed',
  async (part) => {
    const { code, stdout, stderr } = await bench('--only', part, '--users', '40', '--rounds', '1');
    expect(stderr).toBe('');
    expect(stdout).toMatch(/ ≤ [\d.]+( +MISSED)?$/m);
    expect(stdout).not.toMatch(/NaN|undefined/);
    expect(code).toBe(stdout.includes('MISSED') ? 1 : 0);
  },
  2 * MINUTE,
);

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
