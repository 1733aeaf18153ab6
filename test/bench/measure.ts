// Measures rows in rounds: each row once in every round, so that disturbances affect all of them alike. The least of the
// rounds counts: other processes only ever add to it.
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { firstAddress, load, request, type Target, textOf } from './load.ts';
import { cpuTime, pageIn, type Server } from './servers.ts';

/** Who is measured under which load. */
export interface Row {
  readonly group: string;
  readonly name: string;
  /** The first one is asked; the CPU of all of them counts. */
  readonly servers: readonly [Server, ...Server[]];
  readonly target: Target;
  readonly status: number;
  /** It is asked for something else than the first row of the group. */
  readonly isOther?: boolean;
  /** The promised upper bound of its CPU relative to the first row of the group. */
  readonly atMost?: number;
  /** The promised upper bound of its p99 relative to another row. */
  readonly p99?: { readonly base: string; readonly atMost: number };
}

interface Sample {
  /** Requests per second. */
  readonly rate: number;
  /** Microseconds. */
  readonly p99: number;
  /** Microseconds per request. */
  readonly cpu: number;
}

export interface MeasuredRow extends Row {
  readonly best: Sample;
}

/** A figure that is promised to be at most `atMost`. */
export interface Promised {
  readonly what: string;
  readonly figure: number;
  readonly atMost: number;
  readonly unit: '×' | 'KB';
}

/** Seconds, until the code has been compiled. */
const WARM_UP = 2;
/** A server that waits too long for the CPU refuses requests: then the sample is taken again. */
const ATTEMPTS = 5;

export async function measure(rows: readonly Row[], rounds: number, onProgress: (text: string) => void) {
  const results = rows.map((row) => ({ row, samples: [] as Sample[] }));
  for (const { row } of results) {
    onProgress(`warming up: ${row.group}, ${row.name}`);
    await takeSample(row, WARM_UP, 0);
  }
  const shares: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    shares.push(await othersShare());
    for (const { row, samples } of results) {
      onProgress(`round ${round} of ${rounds}: ${row.group}, ${row.name}`);
      samples.push(await takeSample(row, 1, round));
    }
  }
  shares.push(await othersShare());
  const measured = results.map(({ row, samples }): MeasuredRow => ({ ...row, best: bestOf(samples) }));
  return { measured, others: Math.max(...shares) };
}

/** The least of each figure, and the highest rate. */
function bestOf(samples: readonly Sample[]): Sample {
  const least = (figure: keyof Sample) => Math.min(...samples.map((sample) => sample[figure]));
  return { rate: Math.max(...samples.map(({ rate }) => rate)), p99: least('p99'), cpu: least('cpu') };
}

/** The share of the machine's CPU that is used while nothing is measured. */
async function othersShare(): Promise<number> {
  await delay(300);
  const before = cpus();
  await delay(1000);
  const used = cpus().map(({ times }, core) => {
    const spent = Object.entries(times).map(([kind, ms]) => {
      const old = before[core]?.times[kind as keyof typeof times] ?? 0;
      return [kind === 'idle', ms - old] as const;
    });
    const total = spent.reduce((sum, [, ms]) => sum + ms, 0);
    const idle = spent.reduce((sum, [isIdle, ms]) => (isIdle ? sum + ms : sum), 0);
    return 1 - idle / total;
  });
  return used.reduce((sum, share) => sum + share, 0) / used.length;
}

async function takeSample({ group, name, servers, target, status }: Row, seconds: number, seed: number) {
  servers.forEach(pageIn);
  const used = () => servers.reduce((sum, { child }) => sum + cpuTime(child.pid), 0);
  for (let attempt = 1; ; attempt++) {
    const before = used();
    const result = await load(servers[0].port, target, seconds, seed);
    const { requests, p99, failed, refused } = result;
    if (failed === 0 && (refused === 0 || status === 404))
      return { rate: requests / result.seconds, p99, cpu: (used() - before) / requests };
    if (attempt === ATTEMPTS)
      throw new Error(`${group}, ${name}: ${failed} requests failed, ${refused} were refused`);
  }
}

/** A figure of a row relative to that of another row of its group, or of the first. */
export function ratio(
  rows: readonly MeasuredRow[],
  row: MeasuredRow,
  figure: 'cpu' | 'p99' = 'cpu',
  base?: string,
) {
  const other = rows.find(({ group, name }) => group === row.group && (base ?? name) === name);
  return row.best[figure] / (other?.best[figure] ?? Number.NaN);
}

/** Everything that is promised about the rows. */
export const rowPromises = (rows: readonly MeasuredRow[]): Promised[] =>
  rows.flatMap((row) => {
    const what = `${row.group}: ${row.name},`;
    const promises: Promised[] = [];
    if (row.atMost !== undefined)
      promises.push({
        what: `${what} CPU against the first`,
        figure: ratio(rows, row),
        atMost: row.atMost,
        unit: '×',
      });
    if (row.p99 !== undefined)
      promises.push({
        what: `${what} p99 against ${row.p99.base}`,
        figure: ratio(rows, row, 'p99', row.p99.base),
        atMost: row.p99.atMost,
        unit: '×',
      });
    return promises;
  });

/** Throws unless all rows of a group give the first user the same response: wrong ones are not measured. */
export async function check(rows: readonly Row[]): Promise<void> {
  const answers = new Map<string, string>();
  for (const { group, name, servers, target, status, isOther = false } of rows) {
    const etag = target.etags && readFileSync(target.etags, 'utf8').split('\n')[0];
    const headers = {
      ...(etag && { 'if-none-match': etag }),
      ...(target.gzip && { 'accept-encoding': 'gzip' }),
    };
    const response = await request(servers[0].port, firstAddress(target), headers);
    const text = textOf(response);
    if (response.status !== status) throw new Error(`${group}, ${name}: ${response.status} ${text}`);
    if (isOther) continue;
    const other = answers.get(group) ?? text;
    if (text !== other) throw new Error(`${group}, ${name}: ${text} is not ${other}`);
    answers.set(group, text);
  }
}
