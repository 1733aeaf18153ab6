// Logs what an outage brings thousands of a second: the first of each cause with its request, and once a second how many
// followed. The counts add up.
import type { Logger } from 'pino';

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
  const bundles = new Map<string, Bundle>();
  let timer: NodeJS.Timeout | undefined;

  /** Logs what was counted; a cause that did not come again is forgotten. */
  function flush(): void {
    for (const [key, bundle] of bundles) {
      const { level, message, cause, count } = bundle;
      if (count === 0) bundles.delete(key);
      else log[level]({ ...cause, count }, message);
      bundle.count = 0;
    }
    timer = bundles.size > 0 ? setTimeout(flush, PERIOD_MS).unref() : undefined;
  }

  return {
    /** `line`: what is logged of the first of a cause. */
    add(level: Bundle['level'], message: string, cause: object = {}, line = cause): void {
      timer ??= setTimeout(flush, PERIOD_MS).unref();
      let key = JSON.stringify([level, message, cause]);
      const isFirst = !bundles.has(key) && bundles.size < MOST_CAUSES;
      if (isFirst) log[level]({ ...line, count: 1 }, message);
      else if (!bundles.has(key)) key = `other ${message}`;
      const bundle = bundles.get(key) ?? { level, message, cause: isFirst ? cause : OTHERS, count: 0 };
      if (!isFirst) bundle.count++;
      bundles.set(key, bundle);
    },

    /** Logs what was counted so far. */
    stop(): void {
      flush();
      clearTimeout(timer);
    },
  };
}
