// Counts what is observed, in plain numbers and arrays, since every request pays for it.

import { type Observation, type Operation, PROBE, type ResponseEvent } from '../../api/http/observations.ts';
import { isUnreadable } from '../../stores/errors.ts';
import type { ResponseTotals } from './data-faults.ts';

/** Seconds. A lookup takes tens of microseconds, on a cold disk milliseconds. */
export const BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
];

export type RequestCounts = ReturnType<typeof createCounts>;

/** Requests by operation and status, and how long they took; refused requests and connections. */
export function createCounts() {
  const tallies = new Map<Operation, { statuses: Map<number, number>; buckets: Float64Array; sum: number }>();
  const refused = { overload: 0, rate: 0 };
  let refusedConnections = 0;
  let dataFaults = 0;

  function add({ operation, status }: ResponseEvent, seconds: number): void {
    let tally = tallies.get(operation);
    if (tally === undefined) {
      tally = { statuses: new Map(), buckets: new Float64Array(BUCKETS.length + 1), sum: 0 };
      tallies.set(operation, tally);
    }
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    tally.sum += seconds;
    let bucket = 0;
    for (const limit of BUCKETS) {
      if (seconds <= limit) break;
      bucket++;
    }
    // There is one more than limits.
    (tally.buckets[bucket] as number)++;
  }

  return {
    tallies,
    refused,
    refusedConnections: () => refusedConnections,
    /** All but probes, and those that failed because the data could not be read. */
    totals(): ResponseTotals {
      let responses = 0;
      for (const [operation, { statuses }] of tallies)
        if (operation !== PROBE) for (const count of statuses.values()) responses += count;
      return { responses, dataFaults };
    },
    add,
    observe(event: Exclude<Observation, ResponseEvent>): void {
      if (event.type === 'request-failed' && isUnreadable(event.error)) dataFaults++;
      else if (event.type === 'request-refused') refused[event.reason]++;
      else if (event.type === 'connection-refused') refusedConnections++;
    },
  };
}
