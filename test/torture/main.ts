// `npm run torture`: fails every call of every command once, and says what did not hold.
import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { memoryFolder } from '../support/memory-folder.ts';
import type { Request, Sum } from './inject.ts';
import { BESIDE_SERVERS, COMMANDS } from './scenarios.ts';
import { buildShim } from './shim.ts';

/** Another sample every day, the same one all day. */
export const today = () => Math.floor(Date.now() / 86_400_000);

/** Without a pattern, and the same for the same seed. */
export const shuffle = <T>(all: readonly T[], seed: number): T[] =>
  all
    .map((one, nth) => ({ one, key: hash('sha256', `${seed} ${nth}`) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ one }) => one);

/** Runs a scenario in a process with the shim. */
export async function torture(
  scenario: string,
  shim: string,
  options: Omit<Request, 'scenario' | 'work'>,
): Promise<Sum> {
  const work = mkdtempSync(join(memoryFolder(), 'vitrine-torture-'));
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
  return { ...NOTHING, violations: [`${scenario} ended with ${code}: ${err}`], reported: {} };
}

const NOTHING = { calls: 0, faults: 0, injected: 0, killed: 0, served: 0 };

const describe = ({ calls, faults, injected, killed, served, violations }: Sum) =>
  `${calls} calls, ${injected} of ${faults} faults injected, ${killed} of them kills, ${served} beside a server, ${violations.length} violations`;

function add(total: Sum, sum: Sum): void {
  for (const name of ['calls', 'faults', 'injected', 'killed', 'served'] as const) total[name] += sum[name];
  total.violations.push(...sum.violations);
  for (const [code, times] of Object.entries(sum.reported))
    total.reported[code] = (total.reported[code] ?? 0) + times;
}

/** Runs scenarios, several at a time, and prints what each did and the sum. */
async function tortureAll(
  names: readonly string[],
  jobs: number,
  options: Parameters<typeof torture>[2],
): Promise<boolean> {
  const shims = mkdtempSync(join(tmpdir(), 'vitrine-shim-'));
  const shim = buildShim(shims);
  if ('reason' in shim) {
    console.log(`skipped: ${shim.reason}`);
    return true;
  }
  const { path } = shim;
  const total: Sum = { ...NOTHING, violations: [], reported: {} };
  const left = [...names];
  async function work(): Promise<void> {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const sum = await torture(name, path, options);
      console.log([`${name}: ${describe(sum)}`, ...sum.violations].join('\n'));
      add(total, sum);
    }
  }
  await Promise.all(Array.from({ length: jobs }, work));
  rmSync(shims, { recursive: true, force: true });
  const codes = Object.entries(total.reported).map(([code, times]) => `${code} ${times}`);
  console.log(`SQLite reported ${codes.sort().join(', ')}`);
  console.log(`${names.length} commands, ${describe(total)}, seed ${options.seed}`);
  return total.violations.length === 0;
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = parseArgs({
    options: {
      ...{ scenario: text, seed: text, seconds: text, k: text, fault: text, jobs: text, scale: text },
      ...{ served: flag, mutants: flag, sizes: flag, scales: flag, long: flag },
    },
    allowPositionals: true,
  });
  const {
    mutants,
    sizes,
    scales,
    long,
    seed = today(),
    seconds = 10 ** 9,
    k,
    fault,
    served,
    scale = 1,
  } = values;
  const { jobs = availableParallelism(), scenario } = values;
  const run = async () => {
    if (mutants) return (await import('./mutants.ts')).runMutants(positionals);
    if (sizes) return (await import('./sizes.ts')).reportSizes(positionals, Number(scale));
    if (scales) return (await import('./scale.ts')).reportScales(positionals, Number(scale));
    if (long) return (await import('./long-runs.ts')).runLong(positionals);
    const replay = k === undefined ? served && { served } : { k: Number(k), served };
    const only = { ...replay, ...(fault !== undefined && { fault }) };
    const options = { seed: Number(seed), seconds: Number(seconds), ...only };
    return tortureAll(scenario?.split(',') ?? [...COMMANDS, ...BESIDE_SERVERS], Number(jobs), options);
  };
  process.exitCode = (await run()) ? 0 : 1;
}

if (import.meta.main) await main();
