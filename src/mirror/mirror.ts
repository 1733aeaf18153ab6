// Users of a live site -> records in the store, a batch of users at a time; each user whole, or left as they were.
import { type Family, KIND_NAMES } from '../records/kinds.ts';
import { userKey } from '../records/user-name.ts';
import type { Awaitable, Reader, Tallies, Writer } from '../stores/store.ts';
import type { Note, Notes } from './notes.ts';
import { type LiveSite, SiteClosed, SiteError } from './site.ts';
import { createVisitor, type Held, MOST_ITEMS, type Outcome, type Visit } from './visit.ts';

export interface MirrorOptions {
  readonly family: Family;
  readonly site: LiveSite;
  /** Each once, whatever the letter case. */
  readonly users: readonly string[];
  readonly concurrency: number;
  readonly writer: Writer;
  /** Opens the same data for reading. */
  readonly openReader: () => Awaitable<Reader>;
  readonly notes: Notes<Held>;
  /** Whether users whom the site does not know any more are removed. */
  readonly prune: boolean;
  readonly onProgress: (progress: MirrorProgress) => void;
  /** Told what is wrong, a line each. */
  readonly onTrouble: (line: string) => void;
}

export interface MirrorProgress {
  readonly users: number;
  readonly totalUsers: number;
  /** Of the users, those whom an earlier, unfinished run had done already. */
  readonly skipped: number;
}

export interface MirrorResult {
  readonly counts: Record<Outcome, number>;
  readonly tallies: Tallies;
  /** Users whom an earlier, unfinished run had done already. */
  readonly skipped: number;
  readonly pruned: number;
  /** Why it was given up before the last user; undefined when it was not. */
  readonly gaveUp: string | undefined;
}

/** Few enough that the bodies of all of them fit into memory, whatever the site sends. */
const BATCH = 32;
/** So many in a row who could not be had: the site is down, and the rest would fare no better. */
const LOST_IN_A_ROW = 20;
/** How many rows a user can have, for telling whose a row is by its place. */
const PLACES = MOST_ITEMS + 1;

export async function mirror(options: MirrorOptions): Promise<MirrorResult> {
  const { family, site, writer, notes, onTrouble } = options;
  const counts: Record<Outcome, number> = { found: 0, unchanged: 0, unknown: 0, failed: 0 };
  const tallies = Object.fromEntries(
    KIND_NAMES.map((kind) => [kind, { new: 0, changed: 0, unchanged: 0, removed: 0 }]),
  ) as Tallies;
  /** Who has which id, as far as this run has seen. */
  const names = new Map<string, string>();
  const visitor = createVisitor({ ...options, names });
  let skipped = 0;
  let pruned = 0;
  let seen = 0;
  let lost = 0;
  let gaveUp: string | undefined;

  for (let start = 0; start < options.users.length && gaveUp === undefined; start += BATCH) {
    const known = await recall(options.users.slice(start, start + BATCH));
    const visits = await pooled(known, options.concurrency, visit);
    await land(visits.filter((made) => made !== undefined));
  }
  if (gaveUp === undefined) {
    if (options.prune) await prune();
    notes.finish();
  }
  return { counts, tallies, skipped, pruned, gaveUp };

  /** What is remembered of these users; those who are done already are passed over. */
  async function recall(users: readonly string[]) {
    return await reading(async (reader) => {
      const known: { name: string; held: Held | undefined }[] = [];
      for (const name of users) {
        const note = notes.get(userKey(name));
        if (note?.done) {
          skipped++;
          seen++;
          if (note.held !== undefined) names.set(note.held.id, userKey(name));
        } else {
          const intact = note?.held !== undefined && note.held.ours === (await ours(reader, name));
          known.push({ name, held: intact ? note.held : undefined });
        }
      }
      return known;
    });
  }

  async function visit({ name, held }: { name: string; held: Held | undefined }): Promise<Visit | undefined> {
    if (gaveUp !== undefined) return undefined;
    let made: Visit | undefined;
    try {
      made = await visitor.visit(name, held);
      lost = 0;
    } catch (error) {
      if (error instanceof SiteClosed) gaveUp ??= error.message;
      else if (!(error instanceof SiteError)) throw error;
      else {
        lost = error.lost ? lost + 1 : 0;
        if (lost >= LOST_IN_A_ROW) gaveUp ??= `${LOST_IN_A_ROW} users in a row could not be had`;
        onTrouble(error.message);
        made = { name, outcome: 'failed', rows: [] };
      }
    }
    if (made !== undefined) seen++;
    options.onProgress({ users: seen, totalUsers: options.users.length, skipped });
    return made;
  }

  /** Takes a batch into the store and remembers it, in this order: what is remembered is surely there. */
  async function land(visits: readonly Visit[]): Promise<void> {
    const refused = await load(visits);
    await reading(async (reader) => {
      const noted: Omit<Note<Held>, 'done'>[] = [];
      for (const { name, held, ...made } of visits) {
        const outcome = refused.has(name) ? 'failed' : made.outcome;
        counts[outcome]++;
        if (outcome === 'failed') continue;
        const after = await ours(reader, name);
        const remembered = held === undefined || after === undefined ? undefined : { ...held, ours: after };
        noted.push({ userKey: userKey(name), known: outcome !== 'unknown', held: remembered });
      }
      notes.save(noted);
    });
  }

  /** Loads what was found; gives those who do not fit what is there, and who are left as they were. */
  async function load(visits: readonly Visit[]): Promise<Set<string>> {
    const refused = new Set<string>();
    for (;;) {
      const fitting = visits.filter(({ name, rows }) => rows.length > 0 && !refused.has(name));
      if (fitting.length === 0) return refused;
      const before = refused.size;
      const landed = await loadAll(fitting, refused);
      if (landed !== undefined) {
        add(landed);
        return refused;
      }
      if (refused.size === before) throw new Error('the store refused a batch and did not say why');
    }
  }

  /** All of them, or none, and then whose fault it was. */
  async function loadAll(visits: readonly Visit[], refused: Set<string>): Promise<Tallies | undefined> {
    const started = await writer.load({
      ...{ replace: false, skipInvalid: false },
      onMisfit({ place, member, reason, got }) {
        const { name } = visits[Math.floor(place / PLACES)] as Visit;
        if (refused.has(name)) return;
        refused.add(name);
        visitor.report(site.lookups(name)[member === 'username' ? 'profile' : 'items'], member, reason, got);
      },
    });
    try {
      for (const [user, { rows }] of visits.entries())
        for (const [index, row] of rows.entries()) await started.add(row, user * PLACES + index);
      return await started.finish();
    } catch (error) {
      await started.abandon();
      throw error;
    }
  }

  function add(landed: Tallies): void {
    for (const kind of KIND_NAMES)
      for (const column of ['new', 'changed', 'unchanged', 'removed'] as const)
        tallies[kind][column] += landed[kind][column];
  }

  /** Takes away whom the site does not know. When it knows nobody at all, it is the site that is wrong. */
  async function prune(): Promise<void> {
    const unknown = notes.unknown();
    if (unknown.length === 0) return;
    if (counts.found + counts.unchanged + names.size === 0) {
      onTrouble('the site knows none of these users, which may be its own fault: nobody is removed');
      return;
    }
    for (const key of unknown) if ((await writer.remove(family, key)) !== undefined) pruned++;
  }

  async function reading<T>(action: (reader: Reader) => Promise<T>): Promise<T> {
    const reader = await options.openReader();
    try {
      return await action(reader);
    } finally {
      await reader.close();
    }
  }

  /** What tells our own two answers from all others; undefined when we do not know the user. */
  async function ours(reader: Reader, name: string): Promise<string | undefined> {
    const [profile, items] = [
      await reader.profile(family, userKey(name)),
      await reader.items(family, userKey(name), 'items'),
    ];
    if (profile === undefined || items === undefined) return undefined;
    return `${profile.etag} ${items.etag}`;
  }
}

/** Some at a time; the results in the order of the values. */
async function pooled<T, R>(
  values: readonly T[],
  width: number,
  action: (value: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = values.entries();
  const worker = async () => {
    for (const [index, value] of queue) results[index] = await action(value);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}
