// What a database holds, as a short text, and whether it is sound.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { checkDatabase } from '../../src/stores/open.ts';

/** The columns that count; others hold times, salts and places. */
const COLUMNS: Record<string, string> = {
  profiles: 'family, id, user_key, etag, record, served',
  items: 'family, id, owner, date, record',
  lists: 'family, user_key, etag',
  media: 'url, file, linked_file, reason',
  takedowns: 'count(*)',
};

/** Equal for two databases that answer the same. A file without an import counts as none. */
export function contentOf(file: string): string {
  if (!existsSync(file)) return 'none';
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { fileMustExist: true, timeout: 2000 });
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
    if (!tables.includes('vitrine')) return 'none';
    const generation = db.prepare('SELECT generation FROM vitrine').pluck().get();
    const hash = createHash('sha256').update(String(db.pragma('user_version', { simple: true })));
    let rows = 0;
    for (const [table, columns] of Object.entries(COLUMNS)) {
      if (!tables.includes(table)) continue;
      for (const row of db.prepare(`SELECT ${columns} FROM ${table} ORDER BY ${columns}`).raw().iterate()) {
        hash.update(JSON.stringify(row));
        rows += columns === 'count(*)' && (row as [number])[0] === 0 ? 0 : 1;
      }
    }
    return generation === 0 && rows === 0 ? 'none' : hash.digest('hex').slice(0, 8);
  } catch (error) {
    return `unreadable: ${(error as Error).message}`;
  } finally {
    db?.close();
  }
}

/** What `check` says; empty if the database is sound, or not there. */
export async function faultsOf(file: string): Promise<string> {
  if (contentOf(file) === 'none') return '';
  try {
    return (await checkDatabase(file)).faults.join('; ');
  } catch (error) {
    return (error as Error).message;
  }
}
