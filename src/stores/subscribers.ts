// Up to which generation of the data each subscriber was told of changes.
import { type News, readNews } from './changes.ts';
import { firstRow, type Rows, type StoreConnection } from './connection.ts';

/** What one subscriber has not been told. */
export interface SubscriberNews extends News {
  /** The generation that it knows. */
  readonly since: number | undefined;
}

/** What subscribers have not been told. */
export interface UntoldNews {
  readonly generation: number;
  /** In the order in which the subscribers were named. */
  readonly news: readonly SubscriberNews[];
  /** Whether names of a takedown are to be erased once everybody knows of it. */
  readonly erases: boolean;
}

export async function readUntold(db: Rows, subscribers: readonly string[]): Promise<UntoldNews> {
  const rows = await Array.fromAsync(db.rows('SELECT name, generation FROM subscribers'));
  const known = new Map(rows.map(([name, generation]) => [name, Number(generation)]));
  const [generation, eraseBefore] = await firstRow(db, 'SELECT generation, erase_before FROM vitrine');
  const news = [];
  for (const name of subscribers) {
    const since = known.get(name);
    news.push({ since, ...(await readNews(db, since)) });
  }
  return { generation: Number(generation), news, erases: eraseBefore != null };
}

/** Remembers that subscribers were told of everything up to a generation. */
export async function rememberTold(
  db: StoreConnection,
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
