// The rows of an import on their way into PostgreSQL: a temporary table, filled by many rows at once.
import type pg from 'pg';
import type { Row } from '../../records/row.ts';
import { STAGED_COLUMNS, stagedKind } from '../merge-statements.ts';

const STAGED = `
  CREATE TEMP TABLE staged (
    n bigint GENERATED ALWAYS AS IDENTITY, kind integer NOT NULL, place bigint NOT NULL, id bigint NOT NULL,
    user_key text COLLATE "C" NOT NULL, words text NOT NULL, owner bigint, date text COLLATE "C" NOT NULL, record text NOT NULL
  ) ON COMMIT DROP`;
const STAGE = `
  INSERT INTO staged (${STAGED_COLUMNS.join()}) SELECT ${STAGED_COLUMNS.join()} FROM json_to_recordset($1)
  AS rows (kind integer, place bigint, id bigint, user_key text, words text, owner bigint, date text, record text)`;
/** Characters of records that are gathered before they are sent. */
const CHUNK = 256 * 1024;

export type Stage = Awaited<ReturnType<typeof startStage>>;

/** Inside the caller's transaction. */
export async function startStage(client: pg.Client) {
  await client.query(STAGED);
  let rows: object[] = [];
  let size = 0;
  let sending: Promise<unknown> = Promise.resolve();

  /** Sends what was gathered; resolves when what was sent before is stored. */
  async function flush(): Promise<void> {
    const before = sending;
    const values = [JSON.stringify(rows)];
    rows = [];
    size = 0;
    sending = client.query(STAGE, values);
    // It is thrown by the next call.
    sending.catch(() => {});
    await before;
  }

  return {
    add({ kind, id, userKey, words, owner, date, record }: Row, place: number): Promise<void> | undefined {
      const keys = { user_key: userKey, words, owner: owner || null };
      rows.push({ kind: stagedKind(kind), place, id, ...keys, date, record });
      size += record.length;
      return size < CHUNK ? undefined : flush();
    },
    /** All rows are in the table, or it fails as the first did that could not be stored. */
    async end(): Promise<void> {
      await flush();
      await sending;
    },
  };
}
