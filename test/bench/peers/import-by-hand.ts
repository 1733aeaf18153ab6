// An import as one would write it: lines, JSON.parse, a check against the schema, a table with a column for each member.
// Arguments: the NDJSON file and the database.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type TObject, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import Database from 'better-sqlite3';
import { MicroblogProfile, Post } from '../../../src/records/schemas.ts';
import { ADD_POST, ADD_PROFILE, TABLES } from './queries.ts';

const [input = '', path = ''] = process.argv.slice(2);
const db = new Database(path);
db.exec(`PRAGMA journal_mode = WAL; ${TABLES}; BEGIN`);

function createAdder(sql: string, schema: TObject): (record: Record<string, unknown>) => void {
  const members = Object.keys(schema.properties);
  const insert = db.prepare(sql);
  const checker = TypeCompiler.Compile(Type.Object(schema.properties));
  return (record) => {
    if (!checker.Check(record)) throw new Error(`not a record: ${JSON.stringify(record)}`);
    insert.run(members.map((member) => record[member]));
  };
}

const addProfile = createAdder(ADD_PROFILE, MicroblogProfile);
const addPost = createAdder(ADD_POST, Post);
for await (const line of createInterface({ input: createReadStream(input) })) {
  const record = JSON.parse(line);
  if ('username' in record) addProfile(record);
  else addPost(record);
}
db.exec('COMMIT; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)');
db.close();
