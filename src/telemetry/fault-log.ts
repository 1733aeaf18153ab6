// Logs requests that failed. An outage fails thousands of them a second, so the first of each cause is logged with its
// request, and those that follow are counted: one line a cause and second. The counts add up to the failed requests.
import type { Logger } from 'pino';
import { StoreError } from '../stores/errors.ts';

const PERIOD_MS = 1000;
/** Messages may differ from request to request: causes beyond these share one line. */
const MOST_CAUSES = 20;
const OTHERS = { type: 'Error', message: 'other errors' };

interface Cause {
  readonly err: { readonly type: string; readonly message: string };
  /** Failures since the last line. */
  count: number;
}

export type FaultLog = ReturnType<typeof createFaultLog>;

export function createFaultLog(log: Logger) {
  const causes = new Map<string, Cause>();
  let timer: NodeJS.Timeout | undefined;

  /** Logs what was counted; a cause that did not come again is forgotten. */
  function flush(): void {
    for (const [key, cause] of causes) {
      if (cause.count === 0) causes.delete(key);
      else log.error(cause, 'request failed');
      cause.count = 0;
    }
    timer = causes.size > 0 ? setTimeout(flush, PERIOD_MS).unref() : undefined;
  }

  function add(error: unknown, request: object): void {
    const err = summaryOf(error);
    const known = causes.get(keyOf(err)) ?? (causes.size < MOST_CAUSES ? undefined : others());
    if (known !== undefined) return void known.count++;
    causes.set(keyOf(err), { err, count: 0 });
    // A fault of the data is a sentence: where in our code it came from tells nothing.
    const shown = error instanceof Error && !(error instanceof StoreError) ? error : err;
    log.error({ ...request, err: shown, count: 1 }, 'request failed');
    timer ??= setTimeout(flush, PERIOD_MS).unref();
  }

  function others(): Cause {
    const cause = causes.get(keyOf(OTHERS)) ?? { err: OTHERS, count: 0 };
    causes.set(keyOf(OTHERS), cause);
    return cause;
  }

  return {
    add,
    /** Logs what was counted so far. */
    stop(): void {
      flush();
      clearTimeout(timer);
    },
  };
}

const keyOf = ({ type, message }: Cause['err']) => `${type}: ${message}`;

function summaryOf(error: unknown): Cause['err'] {
  return error instanceof Error
    ? { type: error.name, message: error.message }
    : { type: typeof error, message: String(error) };
}
