// Logs requests that failed or were slow, and connections that were closed. An outage brings thousands of them a second, so
// the first of each cause is logged with its request, and those that follow are counted: one line a cause and second. The
// counts add up.
import type { Logger } from 'pino';
import type { Operation } from '../http/observations.ts';
import { StoreError } from '../stores/errors.ts';

const PERIOD_MS = 1000;
/** Messages may differ from request to request: causes beyond these share one line. */
const MOST_CAUSES = 20;
const OTHERS = { err: { type: 'Error', message: 'other errors' } };

interface Bundle {
  readonly level: 'warn' | 'error';
  readonly message: string;
  /** What all that it counts have in common. */
  readonly cause: object;
  count: number;
}

export function createBundledLog(log: Logger) {
  const { add, stop } = createBundles(log);
  return {
    /** A request that failed, by its error. */
    addFailure(error: unknown, request: object): void {
      const err = summarise(error);
      // A fault of the data is a sentence: where in our code it came from tells nothing.
      const shown = error instanceof Error && !(error instanceof StoreError) ? error : err;
      add('error', 'request failed', { err }, { ...request, err: shown });
    },

    /** A slow request, by what it asked for and its status. */
    addSlow(line: Operation & { readonly status: number }): void {
      const { variant, name, status } = line;
      add('warn', 'slow request', { variant, name, status }, line);
    },

    /** A connection that the server closed, by the reason. */
    addConnection: (reason: string) => add('warn', reason, {}, {}),

    /** Logs what was counted so far. */
    stop,
  };
}

function createBundles(log: Logger) {
  const bundles = new Map<string, Bundle>();
  let timer: NodeJS.Timeout | undefined;

  const write = ({ level, message, cause, count }: Bundle) => log[level]({ ...cause, count }, message);

  /** Logs what was counted; a cause that did not come again is forgotten. */
  function flush(): void {
    for (const [key, bundle] of bundles) {
      if (bundle.count === 0) bundles.delete(key);
      else write(bundle);
      bundle.count = 0;
    }
    timer = bundles.size > 0 ? setTimeout(flush, PERIOD_MS).unref() : undefined;
  }

  /** `line`: what is logged of the first of a cause. */
  function add(level: Bundle['level'], message: string, cause: object, line: object): void {
    timer ??= setTimeout(flush, PERIOD_MS).unref();
    const key = JSON.stringify([level, message, cause]);
    const known = bundles.get(key);
    if (known !== undefined) known.count++;
    else if (bundles.size < MOST_CAUSES) {
      bundles.set(key, { level, message, cause, count: 0 });
      write({ level, message, cause: line, count: 1 });
    } else {
      const others = `${level} ${message}`;
      const { count } = bundles.get(others) ?? { count: 0 };
      bundles.set(others, { level, message, cause: OTHERS, count: count + 1 });
    }
  }

  function stop(): void {
    flush();
    clearTimeout(timer);
  }

  return { add, stop };
}

function summarise(error: unknown): { readonly type: string; readonly message: string } {
  return error instanceof Error
    ? { type: error.name, message: error.message }
    : { type: typeof error, message: String(error) };
}
