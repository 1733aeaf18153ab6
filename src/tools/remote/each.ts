// A run over many tasks, several at a time: it reports faults and progress, and ends early when it is stopped, when a site is
// not asked any more, or with the first unexpected error.
import { describeCount, type Report } from '../../import/terminal.ts';
import { SiteError } from './http-client.ts';

interface RunOptions {
  readonly report: Pick<Report, 'fault' | 'step'>;
  /** What the run does, such as `visiting`, and what it counts. */
  readonly doing: string;
  readonly noun: string;
  /** Ends the run. */
  readonly signal: AbortSignal;
  /** How many tasks there are. */
  readonly total: number;
}

/** Tasks at a time, of all queues. */
const MAX_AT_ONCE = 64;

type Queue<Task> = Generator<Task> | AsyncGenerator<Task>;
type Visit<Task> = (task: Task) => Promise<void>;
type OnFailure<Task> = (task: Task, error: SiteError) => void;

export type Run = ReturnType<typeof createRun>;

export function createRun({ report, doing, noun, signal, ...tasks }: RunOptions) {
  const failed = new AbortController();
  const ended = AbortSignal.any([signal, failed.signal]);
  let reason: string | undefined;
  let { total } = tasks;
  let done = 0;
  let skipped = 0;

  const stopped = () => reason ?? (ended.aborted ? 'stopped' : undefined);

  function stop(why: string): void {
    reason ??= why;
  }

  async function attempt<Task>(task: Task, visit: Visit<Task>, onFailure: OnFailure<Task>): Promise<void> {
    try {
      await visit(task);
    } catch (error) {
      if (ended.aborted) return;
      if (!(error instanceof SiteError)) throw error;
      if (error.kind === 'closed') return stop(`given up: ${error.message}`);
      onFailure(task, error);
      report.fault(error.message);
    }
  }

  function showDone(): void {
    done++;
    report.step(doing, done / total, describeCount(done, total, noun));
  }

  return {
    /** Aborted when requests have to end. */
    signal: ended,
    /** No further task is begun. */
    stop,
    /** Why the run ended before the last task; undefined if it did not. */
    stopped,
    skipped: () => skipped,
    /** How many of the tasks an earlier run did. */
    skip(count: number): void {
      skipped += count;
      total -= count;
    },
    /** Works through the tasks, this number of each queue at a time. The run goes on after a SiteError. */
    async each<Task>(
      queues: readonly Queue<Task>[],
      concurrency: number,
      visit: Visit<Task>,
      onFailure: OnFailure<Task> = () => {},
    ): Promise<void> {
      await inParallel(queues, concurrency, failed, async (task) => {
        if (stopped() !== undefined) return false;
        await attempt(task, visit, onFailure);
        if (stopped() === undefined) showDone();
        return true;
      });
    },
  };
}

/**
 * Works until there is nothing more to do. Every queue gets one worker before any gets another, so that slow ones do not
 * hold up the others. An error of one worker ends the others first.
 */
async function inParallel<Task>(
  queues: readonly Queue<Task>[],
  concurrency: number,
  failed: AbortController,
  work: (task: Task) => Promise<boolean>,
): Promise<void> {
  const lanes = Array.from({ length: concurrency }, () => queues)
    .flat()
    .values();
  const workers = Array.from({ length: MAX_AT_ONCE }, async () => {
    try {
      for (let lane = lanes.next(); !lane.done; lane = lanes.next())
        for (let task = await lane.value.next(); !task.done; task = await lane.value.next())
          if (!(await work(task.value))) return;
    } catch (error) {
      failed.abort();
      throw error;
    }
  });
  await Promise.allSettled(workers);
  for (const queue of queues) await queue.return(undefined);
  await Promise.all(workers);
}
