// Calls of every command, and of servers beside them, fail: a sample that differs from day to day. `npm run torture` takes all.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ROOT } from '../support/files.ts';
import { today, torture } from './main.ts';
import { applyPatch, filesOfTest, readMutants } from './mutants.ts';
import { BESIDE_SERVERS, COMMANDS } from './scenarios.ts';
import { buildShim, ordersText } from './shim.ts';

const folder = mkdtempSync(join(tmpdir(), 'vitrine-shim-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const shim = buildShim(folder);
if ('reason' in shim) console.warn(`skipped: ${shim.reason}`);

/** Servers take longer: a third of them each day. */
const servers = BESIDE_SERVERS.filter((_, nth) => nth % 3 === today() % 3);

test.runIf('path' in shim).concurrent.each([...COMMANDS, ...servers])(
  '%s',
  async (scenario) => {
    const { injected, violations } = await torture(scenario, 'path' in shim ? shim.path : '', {
      seed: Number(process.env.TORTURE_SEED ?? today()),
      seconds: 2,
    });
    expect(violations.join('\n')).toBe('');
    expect(injected).toBeGreaterThan(0);
  },
  900_000,
);

test.runIf('path' in shim)('a fault waits for the kind of call that was planned', () => {
  const orders = { folder, k: 1, call: 'write', fault: 'ENOSPC' };
  const program = `fs.mkdirSync('${join(folder, 'first')}'); fs.writeFileSync('${join(folder, 'second')}', 'text')`;
  const LD_PRELOAD = 'path' in shim ? shim.path : '';
  const env = { LD_PRELOAD, TORTURE: ordersText(orders) };
  const { stderr } = spawnSync(process.execPath, ['-e', program], { env, encoding: 'utf8' });
  expect(stderr).toContain('Error: ENOSPC: no space left on device, write');
});

test.runIf('path' in shim)('a connection with the number of a file that Node has closed is no file', () => {
  const orders = { folder, k: 1, call: 'write', fault: 'EIO' };
  const program = `
    const server = net.createServer((accepted) => accepted.end('text')).listen(0, '127.0.0.1', () => {
      for (const file of ['a', 'b'].map((name) => fs.openSync('${folder}/' + name, 'w'))) fs.closeSync(file);
      net.connect(server.address().port, '127.0.0.1').on('close', () => server.close()).pipe(process.stdout);
    });`;
  const LD_PRELOAD = 'path' in shim ? shim.path : '';
  const env = { LD_PRELOAD, TORTURE: ordersText(orders) };
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { env, encoding: 'utf8' });
  expect({ stdout, stderr }).toEqual({ stdout: 'text', stderr: '' });
});

test('every mutant still applies, and names its tests', async () => {
  for (const { name, tests } of readMutants()) {
    await applyPatch(ROOT, name, '--check');
    for (const file of tests) expect(filesOfTest(file), `${file}, of ${name}`).not.toEqual([]);
  }
});
