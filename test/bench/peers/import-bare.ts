// The driver alone: rows that are ready, no check, no index. Only its inserts are measured; it prints their figures.
// Arguments: the number of users, their items, and the database.
import Database from 'better-sqlite3';
import { people } from '../data.ts';
import { POST_MEMBERS } from './queries.ts';

const BATCH = 10_000;

const [users, itemsPerUser, path = ''] = process.argv.slice(2);
const db = new Database(path);
db.pragma('journal_mode = WAL');
db.exec(`CREATE TABLE posts (${POST_MEMBERS.map((member) => `"${member}"`)})`);
const insert = db.prepare(`INSERT INTO posts VALUES (${POST_MEMBERS.map(() => '?')})`);
const figures = { ms: 0, cpu: 0 };

function measured(action: () => void): void {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  action();
  figures.ms += performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  figures.cpu += (user + system) / 1000;
}

function insertAll(rows: readonly string[][]): void {
  measured(() => {
    for (const row of rows) insert.run(row);
  });
}

measured(() => db.exec('BEGIN'));
let batch: string[][] = [];
for (const record of people(Number(users), Number(itemsPerUser))) {
  batch.push(Object.values(record));
  if (batch.length < BATCH) continue;
  insertAll(batch);
  batch = [];
}
insertAll(batch);
measured(() => {
  db.exec('COMMIT');
  db.close();
});
process.stderr.write(`\nfigures ${JSON.stringify(figures)}\n`);
