// What a run of `media fetch` looks at, and what becomes of each address before a host is asked: its copy is here, it is to be
// fetched, or its host may not be asked.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MediaFolder } from '../../stores/media-folder.ts';
import type { FetchStart } from '../../stores/sql/fetches.ts';
import type { OriginalState } from '../../stores/sql/media.ts';
import type { refusal } from '../remote/file-client.ts';
import type { Originals, Saver } from './originals.ts';
import type { Outcomes } from './outcomes.ts';

/** What a run looks at. */
export interface Scope extends FetchStart {
  /** The hosts that were refused before and are named now. */
  readonly asked: readonly string[];
}

/** Why an address must not be asked for; undefined if it may. */
type Refuse = (url: string) => ReturnType<typeof refusal>;

/** Which records name an address that was refused is not known: if its host is named now, everything is looked at. */
export function findScope(start: FetchStart, refuse: Refuse, isCheck: boolean): Scope {
  const asked = start.refused.filter((host) => refuse(host) === undefined);
  return { ...start, asked, since: isCheck || asked.length > 0 ? undefined : start.since };
}

export const isEverything = ({ since }: Scope) => since === undefined;

export type CopyFinder = ReturnType<typeof createCopyFinder>;

/** Finds copies in the folder. A record may name one by its own address, as in what `export --media-urls` writes. */
export function createCopyFinder(folder: Pick<MediaFolder, 'readSize'>, mediaUrl: string) {
  /** If it is not here, such an address leads nowhere. */
  const isCopyAddress = (url: string) => url.startsWith(`${mediaUrl}/`);
  return {
    isCopyAddress,
    has: (name: string) => folder.readSize(name) !== undefined,
    isThere: ({ file, bytes }: OriginalState) => file !== null && folder.readSize(file) === bytes,
    /** The entry of a copy by its own address. */
    findByAddress(url: string): OriginalState | undefined {
      if (!isCopyAddress(url)) return undefined;
      const name = url.slice(mediaUrl.length + 1);
      const bytes = folder.readSize(name);
      return bytes === undefined ? undefined : { url, file: name, bytes, reason: null };
    },
  };
}

interface Listing {
  readonly scope: Scope;
  readonly copies: CopyFinder;
  readonly refuse: Refuse;
  readonly originals: Originals;
  readonly outcomes: Outcomes;
}

/** Between them other work has its turn, such as a signal. */
const ORIGINALS_AT_ONCE = 1000;

/** Fills the lists of originals with what is named and has no copy. */
export async function listOriginals(
  named: AsyncIterable<OriginalState>,
  listing: Listing,
  signal: AbortSignal,
): Promise<void> {
  const { scope, refuse, originals, outcomes } = listing;
  for (const host of scope.refused) {
    const refused = refuse(host);
    if (refused !== undefined) outcomes.reportRefused(refused.reason);
  }
  let listed = 0;
  for await (const entry of named) {
    if (++listed % ORIGINALS_AT_ONCE === 0) {
      await nextTurn();
      if (signal.aborted) return;
    }
    if (isEverything(scope) || originals.isNew(entry.url)) listOriginal(entry, listing);
  }
}

function listOriginal(entry: OriginalState, { scope, copies, refuse, originals, outcomes }: Listing): void {
  const { url, file, refused: before } = entry;
  // The folder is looked into if everything is looked at.
  const isCopied = isEverything(scope) ? copies.isThere(entry) : file !== null;
  if (isCopied) return outcomes.addPresent();
  if (copies.findByAddress(url) !== undefined) {
    originals.found.add(url);
    return outcomes.addPresent();
  }
  if (copies.isCopyAddress(url)) return;
  const refused = refuse(url);
  if (refused?.kind !== 'notNamed') return originals.want(url);
  outcomes.addNotNamed();
  // It is saved already. There may be as many as records.
  if (before !== undefined) return;
  outcomes.reportRefused(refused.reason);
  originals.refused.add(url);
}

/** After the records are read: SQLite's log is not emptied while they are, and each save would wait for that. */
export async function saveListed(
  list: Originals['found'],
  describe: (url: string) => OriginalState | undefined,
  saver: Saver,
  signal: AbortSignal,
): Promise<void> {
  for (const urls of list.pages()) {
    if (signal.aborted) return;
    await saver.addAll(urls.flatMap((url) => describe(url) ?? []));
    await nextTurn();
  }
}

/** The entry of an address whose host may not be asked. */
export const describeRefused = (url: string, refuse: Refuse): OriginalState => {
  return { url, file: null, bytes: 0, reason: refuse(url)?.reason ?? null, refused: new URL(url).origin };
};
