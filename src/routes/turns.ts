// Work that takes long is done one at a time, so that no number of clients can take all of the processor or memory.
import { RequestError } from '../http/errors.ts';

/** Tasks that wait for the one that runs. */
const MOST_WAITING = 8;

/** Runs tasks one after the other; whoever would wait behind many is asked to come back. */
export function createTurns() {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (waiting > MOST_WAITING) throw new RequestError('OVERLOADED');
    waiting++;
    const result = last.then(task);
    last = result.catch(() => {});
    try {
      return await result;
    } finally {
      waiting--;
    }
  };
}
