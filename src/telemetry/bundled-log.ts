// Logs requests that failed or were slow, and connections that were closed. An outage brings thousands of them a second, so
// the first of each cause is logged with its request, and those that follow are counted: one line a cause and second. The
// counts add up.
import type { Logger } from 'pino';
import type { Operation } from '../http/observations.ts';
import { StoreError } from '../stores/errors.ts';

const PERIOD_MS = 1000;
/** Messages may differ from request to request: causes beyond these share one line. */
const MOST_CAUSES = 20;

/** Failed requests, by error. */
export function createFaultLog(log: Logger) {
  const others = { err: { type: 'Error', message: 'other errors' } };
  const { add, stop } = createBundles<object>((line) => log.error(line, 'request failed'), others);
  return {
    add(error: unknown, request: object): void {
      const err = summarise(error);
      // A fault of the data is a sentence: where in our code it came from tells nothing.
      const shown = error instanceof Error && !(error instanceof StoreError) ? error : err;
      add({ err }, { ...request, err: shown });
    },
    stop,
  };
}

/** Slow requests, by what they asked for and their status. */
export function createSlowLog(log: Logger) {
  const { add, stop } = createBundles<object>((line) => log.warn(line, 'slow request'), {});
  return {
    add: (line: Operation & { readonly status: number }) =>
      add({ variant: line.variant, name: line.name, status: line.status }, line),
    stop,
  };
}

/** Connections that the server closed, by the reason. */
export function createConnectionLog(log: Logger) {
  const others = { reason: 'connections closed' };
  const { add, stop } = createBundles(
    ({ reason, count }) => log.warn({ connections: count }, reason),
    others,
  );
  return { add: (reason: string) => add({ reason }, { reason }), stop };
}

/** `others`: what the lines beyond MOST_CAUSES have in common. */
function createBundles<Cause extends object>(
  write: (line: Cause & { readonly count: number }) => void,
  others: Cause,
) {
  const bundles = new Map<string, { readonly cause: Cause; count: number }>();
  let timer: NodeJS.Timeout | undefined;

  /** Logs what was counted; a cause that did not come again is forgotten. */
  function flush(): void {
    for (const [key, bundle] of bundles) {
      if (bundle.count === 0) bundles.delete(key);
      else write({ ...bundle.cause, count: bundle.count });
      bundle.count = 0;
    }
    timer = bundles.size > 0 ? setTimeout(flush, PERIOD_MS).unref() : undefined;
  }

  function open(cause: Cause) {
    const key = JSON.stringify(cause);
    const bundle = bundles.get(key) ?? { cause, count: 0 };
    bundles.set(key, bundle);
    return bundle;
  }

  return {
    /** `line`: what is logged of the first of a cause. */
    add(cause: Cause, line: Cause): void {
      const isNew = !bundles.has(JSON.stringify(cause));
      if (isNew && bundles.size < MOST_CAUSES) {
        open(cause);
        write({ ...line, count: 1 });
      } else open(isNew ? others : cause).count++;
      timer ??= setTimeout(flush, PERIOD_MS).unref();
    },
    /** Logs what was counted so far. */
    stop(): void {
      flush();
      clearTimeout(timer);
    },
  };
}

function summarise(error: unknown): { readonly type: string; readonly message: string } {
  return error instanceof Error
    ? { type: error.name, message: error.message }
    : { type: typeof error, message: String(error) };
}
