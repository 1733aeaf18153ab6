// An import as one would write it: lines, JSON.parse, a check against the schema, a table with a column for each member.
// Arguments: the NDJSON file and the database.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type TObject, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import Database from 'better-sqlite3';
import { MicroblogProfile, Post } from '../../../src/records/schemas.ts';

const [input = '', path = ''] = process.argv.slice(2);
const db = new Database(path);
db.pragma('journal_mode = WAL');

function createTable(name: string, schema: TObject): (record: Record<string, unknown>) => void {
  const columns = Object.keys(schema.properties);
  db.exec(`CREATE TABLE ${name} (${columns.map((column) => `"${column}" TEXT NOT NULL`)})`);
  const insert = db.prepare(`INSERT INTO ${name} VALUES (${columns.map(() => '?')})`);
  const checker = TypeCompiler.Compile(Type.Object(schema.properties));
  return (record) => {
    if (!checker.Check(record)) throw new Error(`not a record of ${name}: ${JSON.stringify(record)}`);
    insert.run(columns.map((column) => record[column]));
  };
}

const addProfile = createTable('profiles', MicroblogProfile);
const addPost = createTable('posts', Post);
db.exec('CREATE UNIQUE INDEX by_name ON profiles (username); CREATE INDEX by_user ON posts ("user", "date")');
db.exec('BEGIN');
const lines = createInterface({ input: createReadStream(input) });
lines.on('line', (line) => {
  const record = JSON.parse(line);
  if ('username' in record) addProfile(record);
  else addPost(record);
});
await new Promise((resolve) => lines.once('close', resolve));
db.exec('COMMIT');
db.close();
