// `npm run torture`: fails every call of every command once, and says what did not hold.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Request, Sum } from './inject.ts';
import { SCENARIOS } from './scenarios.ts';
import { buildShim } from './shim.ts';

/** Another sample every day, the same one all day. */
export const today = () => Math.floor(Date.now() / 86_400_000);

/** Runs a scenario in a process with the shim. */
export async function torture(
  scenario: string,
  shim: string,
  options: Pick<Request, 'seed' | 'seconds' | 'k' | 'fault'>,
): Promise<Sum> {
  const work = mkdtempSync(join(tmpdir(), 'vitrine-torture-'));
  const request: Request = { scenario, work, ...options };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'inject.ts'), JSON.stringify(request)], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LD_PRELOAD: shim },
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  const [code] = await once(child, 'close');
  rmSync(work, { recursive: true, force: true });
  const [said = '', sum] = out.split('SUM ');
  if (options.k !== undefined) console.log(said);
  if (sum !== undefined) return JSON.parse(sum);
  return { calls: 0, kinds: 0, injected: 0, violations: [`${scenario} ended with ${code}: ${err}`] };
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      scenario: { type: 'string' },
      seed: { type: 'string' },
      seconds: { type: 'string' },
      k: { type: 'string' },
      fault: { type: 'string' },
      mutants: { type: 'boolean', default: false },
      sizes: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      scale: { type: 'string', default: '1' },
    },
    allowPositionals: true,
  });
  if (values.mutants) {
    const { runMutants } = await import('./mutants.ts');
    process.exitCode = (await runMutants(positionals)) ? 0 : 1;
    return;
  }
  if (values.sizes) {
    const { reportSizes } = await import('./sizes.ts');
    process.exitCode = (await reportSizes(positionals, Number(values.scale))) ? 0 : 1;
    return;
  }
  if (values.long) {
    const { runLong } = await import('./long-runs.ts');
    process.exitCode = (await runLong(positionals)) ? 0 : 1;
    return;
  }
  const shims = mkdtempSync(join(tmpdir(), 'vitrine-shim-'));
  const shim = buildShim(shims);
  if ('reason' in shim) return console.log(`skipped: ${shim.reason}`);
  const { seed = today(), seconds = Number.MAX_SAFE_INTEGER, k, fault } = values;
  const total: Sum = { calls: 0, kinds: 0, injected: 0, violations: [] };
  for (const scenario of values.scenario?.split(',') ?? Object.keys(SCENARIOS)) {
    const options = {
      seed: Number(seed),
      seconds: Number(seconds),
      ...(k && { k: Number(k) }),
      ...(fault && { fault }),
    };
    const sum = await torture(scenario, shim.path, options);
    console.log(
      `${scenario}: ${sum.injected} of ${sum.kinds} faults in ${sum.calls} calls, ${sum.violations.length} violations`,
    );
    for (const violation of sum.violations) console.log(violation);
    total.calls += sum.calls;
    total.kinds += sum.kinds;
    total.injected += sum.injected;
    total.violations.push(...sum.violations);
  }
  console.log(
    `${total.calls} calls, ${total.injected} of ${total.kinds} faults injected, ${total.violations.length} violations, seed ${seed}`,
  );
  rmSync(shims, { recursive: true, force: true });
  process.exitCode = total.violations.length > 0 ? 1 : 0;
}

if (import.meta.main) await main();
