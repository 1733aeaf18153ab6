// Keeps answers in memory in front of a reader, bounded in bytes and dropped when the data changes.
//
// While there is room, every answer is kept. When full, one in ADMIT_EVERY of the answers that are read gets in: what is
// asked for often gets in soon, and users asked for once do not push others out. Admitting all would cost more than it
// saves: each Buffer that leaves has grown old, and only a full garbage collection frees it (npm run bench).
import { LRUCache } from 'lru-cache';
import { type Answer, type Awaitable, type Reader, whenRead } from './reader.ts';

/** What an entry takes besides its body and key. */
const OVERHEAD = 512;
const ADMIT_EVERY = 1024;

/** The part of a reader that lookups use. */
export type Lookups = Pick<Reader, 'profile' | 'items' | 'isTakenDown'>;

type KeptAnswer = Answer & { readonly body: Buffer };

export interface KeptAnswers extends Lookups {
  readonly figures: { hits: number; misses: number; evictions: number };
  count(): number;
  bytes(): number;
}

/** The same lookups as the reader's; 0 bytes keep none. */
export function keepAnswers(reader: Lookups & Pick<Reader, 'version'>, maxBytes: number): KeptAnswers {
  const answers = new LRUCache<string, KeptAnswer>({
    maxSize: Math.max(maxBytes, 1),
    sizeCalculation: sizeOf,
    dispose: (_answer, _key, reason) => {
      if (reason === 'evict') figures.evictions++;
    },
  });
  const figures = { hits: 0, misses: 0, evictions: 0 };
  let version = reader.version();
  let readWhileFull = 0;

  /** The version of the data; answers of an earlier one are dropped. */
  function currentVersion(): number {
    const current = reader.version();
    if (current !== version) answers.clear();
    version = current;
    return current;
  }

  function find(key: string, read: () => Awaitable<Answer | undefined>): Awaitable<Answer | undefined> {
    if (maxBytes === 0) return read();
    const readAt = currentVersion();
    const kept = answers.get(key);
    if (kept !== undefined) {
      figures.hits++;
      return kept;
    }
    figures.misses++;
    return whenRead(read(), (answer) => {
      // The data may have changed meanwhile.
      if (hasBody(answer) && currentVersion() === readAt) keep(key, answer);
      return answer;
    });
  }

  function keep(key: string, answer: KeptAnswer): void {
    const isFull = answers.calculatedSize + sizeOf(answer, key) > maxBytes;
    if (!isFull || ++readWhileFull % ADMIT_EVERY === 0) answers.set(key, answer);
  }

  return {
    figures,
    count: () => answers.size,
    bytes: () => answers.calculatedSize,
    isTakenDown: reader.isTakenDown,

    // User names cannot contain a line break, so keys cannot clash.
    profile: (family, userKey, options) =>
      find(`${family}\n${userKey}\n${options?.gzip}`, () => reader.profile(family, userKey, options)),
    items: (family, userKey, collection, options) =>
      find(`${family}\n${userKey}\n${collection}\n${options?.gzip}`, () =>
        reader.items(family, userKey, collection, options),
      ),
  };
}

const hasBody = (answer: Answer | undefined): answer is KeptAnswer => answer?.body != null;

const sizeOf = ({ body }: KeptAnswer, key: string) => body.length + key.length + OVERHEAD;
