// Ready answers: the bytes and ETag of what was asked for before, bounded in bytes, dropped when the data moves.
import { hash } from 'node:crypto';
import type { Awaitable, Reader, Stored } from '../stores/store.ts';

/** The bytes of one success, and the headers that go with them. */
export interface Answer {
  readonly body: Buffer;
  readonly etag: string;
  /** Names and values in turn, as Node takes them. */
  readonly headers: readonly string[];
}

/** An answer under its address, with the operation it belongs to. */
interface Kept {
  readonly answer: Answer;
  readonly operation: unknown;
  readonly size: number;
  /** Whether it was asked for since it was last passed over for eviction. */
  wanted: boolean;
}

/** What a kept answer costs besides its body: the entry, two header lists, keys. */
const OVERHEAD = 1024;

export interface AnswersOptions {
  readonly reader: Pick<Reader, 'version'>;
  readonly maxBytes: number;
  readonly headersOf: (body: Buffer, etag: string) => Pick<Answer, 'headers'>;
}

export type Answers<Operation> = ReturnType<typeof createAnswers<Operation>>;

export function createAnswers<Operation>({ reader, maxBytes, headersOf }: AnswersOptions) {
  const kept = new Map<string, Kept>();
  const figures = { bytes: 0, hits: 0, misses: 0, evictions: 0, drops: 0 };
  let version = reader.version();
  const askedLately = createRecollection();

  function dropWhenMoved(): void {
    const now = reader.version();
    if (now === version) return;
    version = now;
    figures.drops++;

    figures.bytes = 0;
  }

  function find(address: string): Kept | undefined {
    dropWhenMoved();
    const found = kept.get(address);
    if (found !== undefined) {
      found.wanted = true;
      figures.hits++;
    }
    return found;
  }

  /** Keeps what was read at a version, unless the data moved meanwhile. */
  function keep(address: string, operation: Operation, { body, etag }: Stored, readAt: number): Answer {
    if (body === null) throw new Error('no body');
    const answer = { body, etag, ...headersOf(body, etag) };
    const size = body.length + address.length + OVERHEAD;
    if (readAt === version && isWorthKeeping(address, size) && !kept.has(address)) {
      kept.set(address, { answer, operation, size, wanted: false });
      figures.bytes += size;
      while (figures.bytes > maxBytes) evict();
    }
    return answer;
  }

  /** Where there is room, all is; otherwise what is asked for again soon, or others would come and go for nothing. */
  function isWorthKeeping(address: string, size: number): boolean {
    if (size > maxBytes) return false;
    return figures.bytes + size <= maxBytes || askedLately(address);
  }

  /** The oldest goes, but one that was asked for since gets another round. */
  function evict(): void {
    for (const [address, entry] of kept) {
      kept.delete(address);
      if (entry.wanted) {
        entry.wanted = false;
        kept.set(address, entry);
        continue;
      }
      figures.bytes -= entry.size;
      figures.evictions++;
      return;
    }
  }

  return {
    figures,
    count: () => kept.size,

    /** The answer kept for an address, with its operation. */
    ready: find as (
      address: string,
    ) => { readonly answer: Answer; readonly operation: Operation } | undefined,

    /** The answer for an address, kept or made; undefined, and nothing kept, when there is nothing to say. */
    answer(
      address: string,
      operation: Operation,
      read: () => Awaitable<Stored | undefined>,
    ): Awaitable<Answer | undefined> {
      const found = find(address);
      if (found !== undefined) return found.answer;
      figures.misses++;
      const readAt = version;
      const settle = (body: Stored | undefined) =>
        body === undefined ? undefined : keep(address, operation, body, readAt);
      const body = read();
      return body instanceof Promise ? body.then(settle) : settle(body);
    },
  };
}

/** An answer's ETag says its bytes and nothing else, so it is the same from every process. */
export function answerOf(body: Buffer, headersOf: AnswersOptions['headersOf']): Answer {
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
  return { body, etag, ...headersOf(body, etag) };
}

/** About as many addresses are remembered as there is room for answers of the usual size by default. */
const SLOTS = 2 ** 12;

/** Says of a text whether it was asked about before, roughly and lately: the newer takes the place of the older. */
function createRecollection() {
  const marks = new Int32Array(SLOTS);
  return (text: string): boolean => {
    let mark = 0;
    for (let i = 0; i < text.length; i++) mark = (Math.imul(mark, 31) + text.charCodeAt(i)) | 0;
    const slot = mark & (SLOTS - 1);
    const known = marks[slot] === mark;
    marks[slot] = mark;
    return known;
  };
}
