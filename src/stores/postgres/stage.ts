// The rows of an import on their way into PostgreSQL: a temporary table, filled by COPY.
import { once } from 'node:events';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { Row } from '../../records/row.ts';
import { STAGED_COLUMNS, stagedKind } from '../merge-statements.ts';

const STAGED = `
  CREATE TEMP TABLE staged (
    n bigint GENERATED ALWAYS AS IDENTITY, kind integer NOT NULL, place bigint NOT NULL, id bigint NOT NULL,
    user_key text COLLATE "C" NOT NULL, owner bigint, date text COLLATE "C" NOT NULL, record text NOT NULL
  ) ON COMMIT DROP`;
const COPY = `COPY staged (${STAGED_COLUMNS.join()}) FROM STDIN`;
/** Characters that are gathered before they are sent. */
const CHUNK = 256 * 1024;

export interface Stage {
  add(row: Row, place: number): Promise<void> | undefined;
  /** All rows are in the table. */
  end(): Promise<void>;
  /** Takes no more; the connection can be used again. */
  abandon(): Promise<void>;
}

/** Inside the caller's transaction. */
export async function startStage(client: pg.Client): Promise<Stage> {
  await client.query(STAGED);
  const copy = client.query(copyFrom(COPY));
  let chunk = '';
  let broken: Error | undefined;
  // Thrown by the next `add` or by `end`.
  copy.on('error', (error) => {
    broken = error;
  });

  async function flush(): Promise<void> {
    const more = copy.write(chunk);
    chunk = '';
    if (!more && broken === undefined) await Promise.race([once(copy, 'drain'), once(copy, 'close')]);
    if (broken !== undefined) throw broken;
  }

  return {
    add(row, place) {
      chunk += formatLine(row, place);
      return chunk.length < CHUNK ? undefined : flush();
    },
    async end() {
      if (broken !== undefined) throw broken;
      const finished = once(copy, 'finish');
      copy.end(chunk);
      await finished;
    },
    async abandon() {
      if (copy.closed || copy.writableFinished || broken !== undefined) return;
      copy.destroy();
      await new Promise((resolve) => copy.once('close', resolve));
    },
  };
}

/** A row in COPY's text format. */
function formatLine(row: Row, place: number): string {
  const { kind, id, userKey, owner, date, record } = row;
  return `${stagedKind(kind)}\t${place}\t${id}\t${escaped(userKey)}\t${owner || '\\N'}\t${date}\t${escaped(record)}\n`;
}

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

const escaped = (text: string) =>
  /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (letter) => ESCAPES[letter] as string) : text;
