// Up to which generation of the data each subscriber was notified of changes. The generation is negative where the last
// notification did not arrive, and 0 where none has.
import { type ChangeSet, readChangeSet } from './changes.ts';
import { firstRow, type Rows, type SqlAdapter } from './sql-adapter.ts';

/** The changes that one subscriber does not know. */
export interface PendingChanges extends ChangeSet {
  /** The generation that it knows. */
  readonly since: number | undefined;
  /** Whether the last notification arrived, or there was none. */
  readonly wasReached: boolean;
}

interface Pending {
  readonly generation: number;
  /** In the order in which the subscribers were named. */
  readonly pending: readonly PendingChanges[];
  /** Whether names of a takedown are to be erased once every subscriber knows of it. */
  readonly erases: boolean;
}

export async function readPending(db: Rows, subscribers: readonly string[]): Promise<Pending> {
  const rows = await Array.fromAsync(db.rows<[string, string]>('SELECT name, generation FROM subscribers'));
  const known = new Map(rows.map(([name, generation]) => [name, Number(generation)]));
  const [generation, eraseBefore] = await firstRow(db, 'SELECT generation, erase_before FROM vitrine');
  const pending = [];
  for (const name of subscribers) {
    const marked = known.get(name);
    const since = marked ? Math.abs(marked) : undefined;
    const wasReached = marked === undefined || marked > 0;
    pending.push({ since, wasReached, ...(await readChangeSet(db, since)) });
  }
  return { generation: Number(generation), pending, erases: eraseBefore !== null };
}

/** Remembers that subscribers know of everything up to a generation. */
export async function markDelivered(
  db: SqlAdapter,
  subscribers: readonly string[],
  generation: number,
): Promise<void> {
  for (const name of subscribers)
    await db.run(
      `INSERT INTO subscribers (name, generation) VALUES ($1, ${generation})
       ON CONFLICT (name) DO UPDATE SET generation = excluded.generation`,
      [name],
    );
}

/** Remembers that the last notification of these subscribers did not arrive. */
export async function markUnreached(db: SqlAdapter, subscribers: readonly string[]): Promise<void> {
  for (const name of subscribers)
    await db.run(
      `INSERT INTO subscribers (name, generation) VALUES ($1, 0)
       ON CONFLICT (name) DO UPDATE SET generation = -abs(subscribers.generation)`,
      [name],
    );
}
