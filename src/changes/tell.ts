// Tells subscribers what changed: caches, webhooks and hubs. The database remembers up to which generation each has accepted
// the changes, so one that cannot be reached, or is being told when the program is killed, is told the next time.
import { setTimeout as delay } from 'node:timers/promises';
import type { SubscriberNews } from '../stores/subscribers.ts';
import type { Writer } from '../stores/writer.ts';

/** A program that is told of changes. Being told twice must do no harm. */
export interface Subscriber {
  /** Stands in the database and in messages: it must hold no secrets. */
  readonly name: string;
  /**
   * Milliseconds after which it is told again: a cache may store an answer that it had asked for just before the change.
   */
  readonly repeatAfter?: number;
  /** Fails with a sentence for the operator. */
  tell(news: SubscriberNews, signal: AbortSignal): Promise<void>;
}

/**
 * Returns a sentence for each failure. With `everything`, each subscriber is told that all answers changed. If the signal ends
 * the run, subscribers that were told by then are remembered.
 */
export async function tellSubscribers(
  writer: Writer,
  subscribers: readonly Subscriber[],
  signal: AbortSignal,
  { everything = false } = {},
): Promise<string[]> {
  const { generation, news, erases } = await writer.readUntold(subscribers.map(({ name }) => name));
  const faults = await Promise.all(
    subscribers.map((subscriber, index) => {
      const untold = news[index] as SubscriberNews;
      return tell(subscriber, everything ? { ...untold, changes: 'everything' } : untold, signal);
    }),
  );
  const told = subscribers.filter((_, index) => faults[index] === undefined);
  await writer.rememberTold(
    told.map(({ name }) => name),
    generation,
  );
  const failures = faults.filter((fault) => fault !== undefined);
  if (erases) failures.push(...(await eraseNames(writer, failures.length === 0)));
  return failures;
}

/** Erases the names that a takedown has left for subscribers; why that was not possible. */
async function eraseNames(writer: Writer, wereAllTold: boolean): Promise<string[]> {
  if (!wereAllTold)
    return [
      'names that were taken down stay in the database until everybody was told: `vitrine purge` tries again',
    ];
  try {
    await writer.eraseNames();
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

/** Why it could not be told; undefined if it was. */
async function tell(
  subscriber: Subscriber,
  news: SubscriberNews,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (news.generation === 0 || news.changes.length === 0) return undefined;
  try {
    signal.throwIfAborted();
    await Promise.race([tellTwice(subscriber, news, signal), rejectAtEnd(signal)]);
    return undefined;
  } catch (error) {
    const reason = signal.aborted ? 'there was no time' : (error as Error).message;
    return `${subscriber.name} was not told what changed, and will be the next time: ${reason}`;
  }
}

async function tellTwice(subscriber: Subscriber, news: SubscriberNews, signal: AbortSignal): Promise<void> {
  await subscriber.tell(news, signal);
  if (subscriber.repeatAfter === undefined) return;
  await delay(subscriber.repeatAfter, undefined, { signal });
  await subscriber.tell(news, signal);
}

const rejectAtEnd = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
