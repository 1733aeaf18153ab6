// Responses that failed because the data could not be read, as a damaged file brings them. One of them is a warning. While they
// are most of the responses, requests should go to another server.

import { counted } from '../../records/printable.ts';

/** Counters that only grow. */
export interface ResponseTotals {
  readonly responses: number;
  readonly dataFaults: number;
}

interface Look extends ResponseTotals {
  readonly at: number;
}

const WINDOW_MS = 30_000;
/** How far looks are apart that are kept. Anybody may ask as often as they like. */
const KEPT_MS = 1000;
/** Fewer responses than these say nothing about the data. */
const LEAST_RESPONSES = 10;
const MOST_SHARE = 0.5;
/** How long one fault is a warning. */
const REMEMBERED_MS = 600_000;

/** Compares the totals of now with those of earlier calls, so that requests pay nothing. */
export function createFaultWatch(totals: () => ResponseTotals, now = () => performance.now()) {
  const looks: Look[] = [{ at: now(), ...totals() }];
  let known = totals().dataFaults;
  let lastFault = Number.NEGATIVE_INFINITY;

  return function findFaults() {
    const look = { at: now(), ...totals() };
    if (look.dataFaults > known) lastFault = look.at;
    known = look.dataFaults;
    if (look.at >= (looks.at(-1)?.at ?? 0) + KEPT_MS) looks.push(look);
    for (let second = looks[1]; second !== undefined && second.at <= look.at - WINDOW_MS; second = looks[1])
      looks.shift();
    const [first = look] = looks;
    const responses = look.responses - first.responses;
    const faults = look.dataFaults - first.dataFaults;
    const isMost = responses >= LEAST_RESPONSES && faults > responses * MOST_SHARE;
    return {
      unready: isMost
        ? `${faults} of the last ${responses} responses failed because the data could not be read: run vitrine check.`
        : undefined,
      warning:
        look.at - lastFault < REMEMBERED_MS
          ? `${counted(look.dataFaults, 'response')} failed because the data could not be read: run vitrine check.`
          : undefined,
    };
  };
}
