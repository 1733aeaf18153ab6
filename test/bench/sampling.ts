// Measures the rows in rounds: each row is measured once in every round, so that disturbances affect all of them alike.
import { type Bound, median, medianRatio } from './figures.ts';
import { load } from './load.ts';
import { watchOthers } from './other-processes.ts';
import { cpuSeconds, pageIn } from './processes.ts';
import type { Row, RowName } from './rows.ts';

/** Seconds, until the code has been compiled and the responses that fit are in memory. */
const WARM_UP = 2;
/** A server that waits too long for the CPU refuses requests: then the sample is taken again. */
const ATTEMPTS = 5;

export interface Sample {
  /** Requests per second. */
  readonly rate: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds per request. */
  readonly cpu: number;
  /** The share of the machine's CPU that other processes used. */
  readonly others: number | undefined;
}

/** A row with its samples, one for each round. */
export interface Measured extends RowName {
  readonly samples: readonly Sample[];
}

export interface Rounds {
  readonly rounds: number;
  readonly seconds: number;
  readonly onProgress: (text: string) => void;
}

export async function measure(
  rows: readonly Row[],
  { rounds, seconds, onProgress }: Rounds,
): Promise<Measured[]> {
  const taken = new Map<Row, Sample[]>(rows.map((row) => [row, []]));
  for (const row of rows) {
    onProgress(`warming up: ${row.group}, ${row.name}`);
    await sampleOf(row, WARM_UP, 0);
  }
  for (let round = 1; round <= rounds; round++)
    for (const [row, samples] of taken) {
      onProgress(`round ${round} of ${rounds}: ${row.group}, ${row.name}`);
      samples.push(await sampleOf(row, seconds, round));
    }
  return [...taken].map(([{ group, name, base, promise, p99 }, samples]) => ({
    group,
    name,
    base,
    promise,
    p99,
    samples,
  }));
}

async function sampleOf(row: Row, seconds: number, seed: number): Promise<Sample> {
  const { group, name, server, ask, status } = row;
  pageIn(server);
  for (let attempt = 1; ; attempt++) {
    const others = watchOthers();
    const before = cpuSeconds(server.child.pid);
    const {
      requests,
      seconds: took,
      p50,
      p99,
      failed,
      refused,
    } = await load(server.port, ask, seconds, seed);
    const used = cpuSeconds(server.child.pid) - before;
    if (failed === 0 && (refused === 0 || status === 404))
      return { rate: requests / took, p50, p99, cpu: (used / requests) * 1e6, others: others() };
    if (attempt === ATTEMPTS)
      throw new Error(`${group}, ${name}: ${failed} requests failed, ${refused} were refused`);
  }
}

/** The median of a row's samples. */
export const medianOf = ({ samples }: Measured, figure: 'rate' | 'p50' | 'p99' | 'cpu') =>
  median(samples.map((sample) => sample[figure]));

/** A figure of a row relative to that of another row in the same round. */
export function ratioTo(rows: readonly Measured[], row: Measured, other: string, figure: 'cpu' | 'p99') {
  const base = rows.find(({ group, name }) => group === row.group && name === other) as Measured;
  const [own, theirs] = [row, base].map(({ samples }) => samples.map((sample) => sample[figure]));
  return medianRatio(own as number[], theirs as number[]);
}

/** Everything that is promised about the rows. */
export function boundsOf(rows: readonly Measured[]): Bound[] {
  return rows.flatMap((row) => {
    const { group: where, name, base, promise, p99 } = row;
    const bounds: Bound[] = [];
    if (promise !== undefined)
      bounds.push({ where, what: name, figure: ratioTo(rows, row, base, 'cpu'), promised: promise });
    if (p99 !== undefined) {
      const what = `${name}, p99 relative to ${p99.of}`;
      bounds.push({ where, what, figure: ratioTo(rows, row, p99.of, 'p99'), promised: p99.atMost });
    }
    return bounds;
  });
}

/** The median share of the CPU that other processes used; undefined where it cannot be told. */
export function othersShare(rows: readonly Measured[]): number | undefined {
  const shares = rows.flatMap(({ samples }) => samples.map(({ others }) => others));
  return shares.includes(undefined) ? undefined : median(shares as number[]);
}
