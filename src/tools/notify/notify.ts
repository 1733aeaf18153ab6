// Notifies subscribers of changes: caches and webhooks. The database remembers up to which generation each has accepted the
// changes, so one that cannot be reached, or that is waiting when the program is killed, is notified the next time.

import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../../records/thrown.ts';
import type { PendingChanges } from '../../stores/sql/changes.ts';
import { noStep } from '../../stores/steps.ts';
import type { Writer } from '../../stores/writer.ts';

/** Changes on their way to a subscriber. */
export interface Delivery extends PendingChanges {
  readonly signal: AbortSignal;
}

/** A program that is notified of changes. Getting them twice must do no harm. */
export interface Subscriber {
  /** Stands in the database and in messages: it must hold no secrets. */
  readonly name: string;
  /** Milliseconds after which changes are delivered again: a cache may store an answer that it had asked for just before. */
  readonly repeatAfter?: number;
  /** Also of users for which only items changed that are too old for the list: their pages have a link to them. */
  readonly withOldItems?: boolean;
  /** Fails with a sentence for the operator. */
  readonly deliver: (delivery: Delivery) => Promise<void>;
}

/**
 * Returns a sentence for each failure. With `everything`, all answers count as changed. If the signal ends the run, what was
 * delivered by then is remembered. Tests pass another `pause`.
 */
export async function notifySubscribers(
  writer: Writer,
  subscribers: readonly Subscriber[],
  signal: AbortSignal,
  { everything = false, pause = delay, onStep = noStep } = {},
): Promise<string[]> {
  onStep('reading what changed');
  const { generation, pending, erases } = await writer.readPending(subscribers.map(({ name }) => name));
  // Nothing was imported yet.
  if (generation === 0) return [];
  onStep(`notifying ${subscribers.map(({ name }) => name).join(', ')}`);
  const faults = await Promise.all(
    pending.map((known, index) => {
      // `pending` has the order of the subscribers.
      const subscriber = subscribers[index] as Subscriber;
      const changes = everything ? 'everything' : pickChanges(subscriber, known.changes);
      return notify(subscriber, { ...known, changes, signal }, pause);
    }),
  );
  const hasFault = (_: Subscriber, index: number) => faults[index] !== undefined;
  const [unreached = [], reached = []] = [true, false].map((fails) =>
    subscribers.filter((one, index) => hasFault(one, index) === fails).map(({ name }) => name),
  );
  await writer.markDelivered(reached, generation);
  if (unreached.length > 0) await writer.markUnreached(unreached);
  const failures = faults.filter((fault) => fault !== undefined);
  if (erases) onStep('erasing names that were taken down');
  if (erases) failures.push(...(await eraseNames(writer, failures.length === 0)));
  return failures;
}

export function pickChanges({ withOldItems }: Subscriber, changes: Delivery['changes']): Delivery['changes'] {
  if (withOldItems || changes === 'everything') return changes;
  return changes.filter(({ profile, list }) => profile || list);
}

/** Erases the names that a takedown has left for subscribers; why that was not possible. */
async function eraseNames(writer: Writer, allDelivered: boolean): Promise<string[]> {
  if (!allDelivered)
    return [
      'names that were taken down stay in the database until every subscriber knows: run `vitrine purge` when all can be reached. If one is gone for good, take it out of PURGE or NOTIFY, and the next import erases the names',
    ];
  try {
    await writer.eraseNames();
    return [];
  } catch (error) {
    return [errorMessage(error)];
  }
}

/** Why the subscriber could not be notified; undefined if it was. */
async function notify(
  subscriber: Subscriber,
  delivery: Delivery,
  pause: typeof delay,
): Promise<string | undefined> {
  const { changes, signal } = delivery;
  if (changes.length === 0) return undefined;
  try {
    signal.throwIfAborted();
    await Promise.race([notifyTwice(subscriber, delivery, pause), rejectAtEnd(signal)]);
    return undefined;
  } catch (error) {
    const reason = signal.aborted ? 'there was no time' : errorMessage(error);
    return `${subscriber.name} was not notified, and will be the next time: ${reason}`;
  }
}

async function notifyTwice(
  { deliver, repeatAfter }: Subscriber,
  delivery: Delivery,
  pause: typeof delay,
): Promise<void> {
  await deliver(delivery);
  if (repeatAfter === undefined) return;
  await pause(repeatAfter, undefined, { signal: delivery.signal });
  await deliver(delivery);
}

const rejectAtEnd = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
