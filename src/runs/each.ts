// A run over many tasks, several at a time: it reports faults and progress, and ends early when it is stopped, when too many
// tasks fail in a row, or with the first error that nobody expects.
import { bar, createReport, secondsLeft, type Terminal } from '../files/terminal.ts';
import { MAX_FAILURES } from '../remote/host.ts';
import { SiteError } from '../remote/http-client.ts';

interface RunOptions {
  readonly report: Pick<RunReport, 'fault' | 'progress'>;
  /** Ends the run. */
  readonly signal: AbortSignal;
  /** How many tasks there are, with those that are skipped. */
  readonly total: number;
  /** What the tasks are about, such as `users`. */
  readonly noun?: string;
}

/** Lanes at a time. */
const MAX_AT_ONCE = 64;

type AnyIterable<Task> = Iterable<Task> | AsyncIterable<Task>;

export type Run = ReturnType<typeof createRun>;

export function createRun(options: RunOptions) {
  const { report, total } = options;
  const { attempt, fail, throwFatal, ...ending } = createEnding(options);
  let done = 0;
  let skipped = 0;

  /** Works through the tasks of each lane one by one, and through so many lanes at a time. The run goes on after a SiteError. */
  async function each<Task>(
    lanes: Iterable<AnyIterable<Task>>,
    visit: (task: Task) => Promise<void>,
    onFailure: (task: Task, error: SiteError) => void = () => {},
  ): Promise<void> {
    const queue = lanes[Symbol.iterator]();
    async function work(): Promise<void> {
      for (let lane = queue.next(); !lane.done; lane = queue.next())
        for await (const task of lane.value) {
          if (ending.stopped() !== undefined) return;
          await attempt(
            () => visit(task),
            (error) => onFailure(task, error),
          );
          if (ending.stopped() === undefined) report.progress({ done: ++done, total, skipped });
        }
    }
    await Promise.all(Array.from({ length: MAX_AT_ONCE }, () => work().catch(fail)));
    throwFatal();
  }

  return {
    ...ending,
    each,
    skipped: () => skipped,
    /** Tasks that an earlier run has done. */
    skip(count: number): void {
      skipped += count;
      done += count;
    },
  };
}

/** When and why a run ends. */
function createEnding({ report, signal, noun = 'users' }: RunOptions) {
  const own = new AbortController();
  const ended = AbortSignal.any([signal, own.signal]);
  let stopped: string | undefined;
  let fatal: { error: unknown } | undefined;
  let failuresInRow = 0;

  /** No further task is begun. */
  function stop(reason: string): void {
    stopped ??= reason;
  }

  /** No further task is begun, and requests under way end. */
  function abort(reason: string): void {
    stop(reason);
    own.abort();
  }

  /** Nobody expects this error: the run ends with it, after the other lanes have ended. */
  function fail(error: unknown): void {
    fatal ??= { error };
    abort('failed');
  }

  async function attempt(visit: () => Promise<void>, onFailure: (error: SiteError) => void): Promise<void> {
    try {
      ended.throwIfAborted();
      await visit();
      failuresInRow = 0;
    } catch (error) {
      if (ended.aborted) stop('stopped');
      else if (!(error instanceof SiteError)) fail(error);
      else if (error.kind === 'closed') stop(`given up: ${error.message}`);
      else {
        onFailure(error);
        report.fault(error.message);
        failuresInRow = error.kind === 'site' ? failuresInRow + 1 : 0;
        if (failuresInRow >= MAX_FAILURES) stop(`given up: ${MAX_FAILURES} ${noun} failed in a row`);
      }
    }
  }

  return {
    /** Aborted when requests have to end. */
    signal: ended,
    stop,
    abort,
    fail,
    attempt,
    /** Why the run ended before the last task; undefined if it did not. */
    stopped: () => stopped,
    throwFatal(): void {
      if (fatal !== undefined) throw fatal.error;
    },
  };
}

/** A queue that several lanes take their tasks from. */
export function share<Task>(
  queue: Generator<Task> | AsyncGenerator<Task>,
  lanes: number,
): AsyncIterable<Task>[] {
  const lane = { [Symbol.asyncIterator]: () => ({ next: async () => await queue.next() }) };
  return Array(lanes).fill(lane);
}

interface RunProgress {
  readonly done: number;
  readonly total: number;
  /** Of those that are done, what an earlier, unfinished run did. */
  readonly skipped: number;
}

export type RunReport = ReturnType<typeof createRunReport>;

/** `doing` says what the run does, such as `visiting`; `noun` names what it counts. */
export function createRunReport(out: Terminal, doing: string, noun = 'users') {
  const report = createReport(out);

  /** What an earlier run did does not count for the speed. */
  function progress({ done, total, skipped }: RunProgress): void {
    report.show((seconds) => {
      const now = done - skipped;
      const left = secondsLeft(now / Math.max(total - skipped, 1), seconds);
      const speed = (now / Math.max(seconds, 0.001)).toFixed(1);
      return `${doing}  ${bar(done / total)}  ${done} of ${total} ${noun}, ${speed}/s, ${left} s left`;
    });
  }

  return { ...report, progress };
}
