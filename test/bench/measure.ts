// Measures rows in rounds: each row once in every round, so that disturbances affect all of them alike. The least of the
// rounds counts: other processes only ever add to it.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { address, load, request, type Target } from './load.ts';
import { cpuTime, type Process, pageIn } from './processes.ts';
import { watchOthers } from './quiet.ts';

/** Who is measured under which load. */
export interface Row {
  readonly group: string;
  readonly name: string;
  /** The first one is asked; the CPU of all of them counts. */
  readonly servers: readonly [Process, ...Process[]];
  readonly target: Target;
  readonly status: number;
  /** The bodies for the first users. */
  readonly expected: readonly string[];
  /** The row of the group that its CPU is related to. */
  readonly base: string;
  /** The promised upper bound of that ratio. */
  readonly atMost?: number;
  /** The promised upper bound of its p99 relative to another row. */
  readonly p99?: { readonly base: string; readonly atMost: number };
}

export interface Sample {
  /** Requests per second. */
  readonly rate: number;
  /** Microseconds. */
  readonly p99: number;
  /** Microseconds per request. */
  readonly cpu: number;
}

export interface MeasuredRow extends Omit<Row, 'servers' | 'target' | 'status' | 'expected'> {
  readonly best: Sample;
  /** The median share of the machine's CPU that other processes used. */
  readonly others: number;
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

export async function measure(
  rows: readonly Row[],
  rounds: number,
  seconds: number,
  onProgress: (text: string) => void,
): Promise<MeasuredRow[]> {
  const results = rows.map((row) => ({ row, samples: [] as Sample[], others: [] as number[] }));
  for (const { row } of results) {
    onProgress(`warming up: ${row.group}, ${row.name}`);
    await takeSample(row, WARM_UP, 0);
  }
  for (let round = 1; round <= rounds; round++)
    for (const { row, samples, others } of results) {
      onProgress(`round ${round} of ${rounds}: ${row.group}, ${row.name}`);
      const share = watchOthers();
      samples.push(await takeSample(row, seconds, round));
      others.push(share() ?? 0);
    }
  return results.map(
    ({ row: { servers: _, target: _target, status: _status, expected, ...row }, ...taken }) => ({
      ...row,
      best: bestOf(taken.samples),
      others: taken.others.sort((a, b) => a - b)[Math.floor(taken.others.length / 2)] ?? 0,
    }),
  );
}

/** The least of each figure, and the highest rate. */
function bestOf(samples: readonly Sample[]): Sample {
  const least = (figure: keyof Sample) => Math.min(...samples.map((sample) => sample[figure]));
  const rate = Math.max(...samples.map((sample) => sample.rate));
  return { rate, p99: least('p99'), cpu: least('cpu') };
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

/** A figure of a row relative to that of another row of its group. */
export function ratio(rows: readonly MeasuredRow[], row: MeasuredRow, base: string, figure: 'cpu' | 'p99') {
  const other = rows.find(({ group, name }) => group === row.group && name === base);
  return row.best[figure] / (other?.best[figure] ?? Number.NaN);
}

/** Everything that is promised about the rows. */
export const rowPromises = (rows: readonly MeasuredRow[]): Promised[] =>
  rows.flatMap((row) => {
    const what = `${row.group}: ${row.name}`;
    const promises: Promised[] = [];
    const add = (words: string, base: string, figure: 'cpu' | 'p99', atMost: number) =>
      promises.push({
        what: `${what}, ${words} ${base}`,
        figure: ratio(rows, row, base, figure),
        atMost,
        unit: '×',
      });
    if (row.atMost !== undefined) add('CPU against', row.base, 'cpu', row.atMost);
    if (row.p99 !== undefined) add('p99 against', row.p99.base, 'p99', row.p99.atMost);
    return promises;
  });

const CHECKED_USERS = 3;

/** Throws unless the server responds as it must: nobody is measured with wrong responses. */
export async function check({ group, name, servers, target, status, expected }: Row): Promise<void> {
  const etags = target.etags === undefined ? [] : readFileSync(target.etags, 'utf8').split('\n');
  for (const [index, body] of expected.slice(0, CHECKED_USERS).entries()) {
    const etag = etags[index];
    const headers = {
      ...(etag !== undefined && { 'if-none-match': etag }),
      ...(target.gzip && { 'accept-encoding': 'gzip' }),
    };
    const got = await request(servers[0].port, address(target, index + 1), headers);
    const text = String(got.headers['content-encoding'] === 'gzip' ? gunzipSync(got.body) : got.body);
    if (got.status !== status || text !== body)
      throw new Error(
        `${group}, ${name}: the response is ${got.status} ${text.slice(0, 200)}…, not ${status} ${body.slice(0, 200)}…`,
      );
  }
}
