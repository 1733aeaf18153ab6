// The benchmark runs: every contender responds correctly and each part measures something. Results are not judged.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startRows } from '../bench/contenders.ts';
import { partsOf } from '../bench/parts.ts';
import { check, GROUPS } from '../bench/rows.ts';
import { createStage } from '../bench/stage.ts';
import { ROOT, tempFolder } from '../rig.ts';

const MINUTE = 60_000;

test.each(GROUPS)(
  'every contender of the group %s responds correctly',
  async (group) => {
    const rows = await startRows(group, createStage(tempFolder(), { users: 40, profiles: 60 }));
    try {
      for (const row of rows) await check(row);
      const names = rows.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      for (const { base, p99 } of rows)
        expect(names).toEqual(expect.arrayContaining([base, p99?.of ?? base]));
    } finally {
      await Promise.all(rows.map(({ server }) => server.stop()));
    }
  },
  MINUTE,
);

test.each([
  ['main', '--only', '304', '--users', '40', '--rounds', '1', '--seconds', '1'],
  ['size', '--users', '100', '--soak', '2'],
  ['start', '--rounds', '1'],
  ['import', '--items', '300', '--rounds', '1', '--folder', tempFolder()],
  ['workers', '--users', '40', '--rounds', '1', '--seconds', '1'],
])(
  '%s.ts measures, and says what it missed in its last lines',
  async (name, ...args) => {
    const { code, stdout, stderr } = await run(name, args);
    expect(stderr).toBe('');
    const missed = stdout.split('\n').filter((line) => line.startsWith('missed: '));
    expect(code).toBe(missed.length === 0 ? 0 : 1);
    expect(stdout).toMatch(name === 'main' ? /^304 Not Modified +requests\/s/m : /^- .*\d.*\.$/m);
    expect(stdout).not.toMatch(/NaN|undefined/);
  },
  2 * MINUTE,
);

test.each(partsOf(tempFolder()))('a long run starts %s.ts with flags that it has', async (name, ...args) => {
  expect(await run(name, [...args, '--help'])).toMatchObject({ code: 0, stderr: '' });
});

test('only a complete run is published', async () => {
  const { code, stderr } = await run('main', ['--publish', '--only', 'items']);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^--publish writes a whole run: .*\n$/)]);
});

async function run(name: string, args: readonly string[]) {
  try {
    const command = [`test/bench/${name}.ts`, ...args];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, { cwd: ROOT });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}
