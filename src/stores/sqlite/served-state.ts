// What a server does about the file at its path: one of three states, and what each look at the path makes of it. Opening files is
// up to serve.ts.

import { StoreError } from '../errors.ts';
import type { StoreEvent } from '../reader.ts';
import type { FileStats } from './file.ts';

/**
 * Nothing is served (`waiting`), the file at the path is (`serving`), or the one that was there before is, since what is there now is
 * refused (`held`).
 */
export type ServedState<Opened> =
  | { readonly name: 'waiting'; readonly refused?: RefusedFile }
  | { readonly name: 'serving'; readonly served: Opened }
  | { readonly name: 'held'; readonly served: Opened; readonly refused: RefusedFile };

export interface RefusedFile {
  readonly stats: FileStats;
  readonly error: Error;
  /** Looks in a row that found it. SQLite reports a read that failed as damage, so only what a second look finds is logged. */
  readonly looks: number;
}

/** What a look finds: the file that is served in its place, another one that passes the checks, or one that does not. */
export type FoundFile<Opened> =
  | { readonly is: 'in place' | 'another'; readonly opened: Opened }
  | { readonly is: 'refused'; readonly stats: FileStats; readonly error: Error };

/** The state after a look, and what to log. */
export function nextState<Opened>(
  state: ServedState<Opened>,
  found: FoundFile<Opened>,
): { readonly state: ServedState<Opened>; readonly log?: StoreEvent | undefined } {
  if (found.is === 'refused') return refuse(state, found.stats, found.error);
  const serving = { name: 'serving', served: found.opened } as const;
  if (found.is === 'in place') return { state: serving };
  if (state.name !== 'waiting')
    return {
      state: serving,
      log: { type: 'data-swapped', message: 'another file took the place of the data' },
    };
  if (state.refused === undefined) return { state: serving };
  return { state: serving, log: { type: 'data-changed', message: 'there is data now, and it is served' } };
}

function refuse<Opened>(state: ServedState<Opened>, stats: FileStats, error: Error) {
  const before = state.name === 'serving' ? undefined : state.refused;
  const isAgain =
    before?.stats.database?.ino === stats.database?.ino && before?.error.message === error.message;
  const refused = { stats, error, looks: isAgain ? before.looks + 1 : 1 };
  const next: ServedState<Opened> =
    state.name === 'waiting' ? { ...state, refused } : { name: 'held', served: state.served, refused };
  const type = next.name === 'waiting' ? ('data-warning' as const) : ('data-fault' as const);
  const message = describeRefused(next);
  return { state: next, log: message !== undefined && refused.looks === 2 ? { type, message } : undefined };
}

/** Undefined before the second look. */
export function describeRefused(state: ServedState<unknown>): string | undefined {
  if (state.name === 'serving' || state.refused === undefined || state.refused.looks === 1) return undefined;
  const { error } = state.refused;
  const effect =
    state.name === 'waiting' ? 'Until then, every lookup is answered with 503.' : 'The data before stays.';
  // An error that is no fault of the data is one of this program.
  return `${error instanceof StoreError ? error.message : error.stack} ${effect}`;
}
