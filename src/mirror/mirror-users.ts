// The run of a mirror, batch by batch: visit the users, load what has changed, note what was done; then prune.
import type { Family } from '../records/kinds.ts';
import { KIND_NAMES } from '../records/kinds.ts';
import { userKey } from '../records/user-name.ts';
import type { Tallies, Writer } from '../stores/store.ts';
import { loadVisits } from './load-visits.ts';
import type { LocalData } from './local-data.ts';
import type { Notes } from './notes.ts';
import { findConflicts } from './ownership.ts';
import { type SiteClient, SiteClosed, SiteError } from './site-client.ts';
import type { UserList } from './user-list.ts';
import { createVisitor, type LastFetch, type Outcome, type Visit } from './visit-user.ts';

export interface MirrorOptions {
  readonly family: Family;
  readonly site: SiteClient;
  readonly list: UserList;
  readonly concurrency: number;
  readonly writer: Writer;
  readonly local: LocalData;
  readonly notes: Notes;
  /** Whether users that the mirror brought are removed when the site does not know them any more. */
  readonly prune: boolean;
  /** Whether users that are here under the same name and id are taken over. */
  readonly adopt: boolean;
  /** Ends the run after what is being loaded. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: MirrorProgress) => void;
  readonly onFault: (line: string) => void;
}

export interface MirrorProgress {
  readonly users: number;
  readonly totalUsers: number;
  /** Of the users, those whom an earlier, unfinished run has visited. */
  readonly skipped: number;
}

export interface MirrorResult {
  readonly counts: Record<Outcome, number>;
  readonly tallies: Tallies;
  readonly skipped: number;
  readonly pruned: number;
  /** Whether the site knows any of the users. */
  readonly anyoneKnown: boolean;
  /** Why the run ended before the last user; undefined if it did not. */
  readonly stopped: string | undefined;
}

/** Few enough that their bodies fit into memory, whatever the site sends. */
const BATCH = 32;
/** After this many failures in a row the site counts as down. */
const MAX_FAILURES = 20;

/** What a run has come to so far. */
interface Run {
  readonly counts: Record<Outcome, number>;
  readonly tallies: Tallies;
  /** The ids that the users of the current batch have. */
  readonly claims: Map<string, string>;
  visited: number;
  skipped: number;
  pruned: number;
  failuresInRow: number;
  stopped: string | undefined;
}

export async function mirrorUsers(options: MirrorOptions): Promise<MirrorResult> {
  const { notes, list, prune } = options;
  const run = newRun();
  const visitor = createVisitor({ ...options, claimId: (id, key) => claimId(run, notes, id, key) });
  await recoverInterrupted(options);
  for (const names of list.batches(BATCH)) {
    const due = await selectDue(names, options, run);
    const visits = await visitAll(due, visitor, options, run);
    await loadAndNote(visits, visitor, options, run).catch((error: Error) => {
      if (error.name !== 'AbortError') throw error;
      run.stopped = 'stopped';
    });
    if (run.stopped !== undefined) break;
  }
  const anyoneKnown = run.counts.refused > 0 || notes.anyoneKnown();
  if (run.stopped === undefined) {
    if (prune) await pruneGone(anyoneKnown, options, run);
    notes.finish();
  }
  const { counts, tallies, skipped, pruned, stopped } = run;
  return { counts, tallies, skipped, pruned, stopped, anyoneKnown };
}

function newRun(): Run {
  const tally = () => ({ new: 0, changed: 0, unchanged: 0, removed: 0 });
  return {
    counts: { found: 0, unchanged: 0, unknown: 0, refused: 0, failed: 0 },
    tallies: Object.fromEntries(KIND_NAMES.map((kind) => [kind, tally()])) as Tallies,
    claims: new Map(),
    visited: 0,
    skipped: 0,
    pruned: 0,
    failuresInRow: 0,
    stopped: undefined,
  };
}

/** If the last run was killed while it loaded a batch, what is in the store now is of that batch. */
async function recoverInterrupted({ notes, local }: MirrorOptions): Promise<void> {
  const interrupted = notes.interrupted();
  if (interrupted.length === 0) return;
  const here = await local.users(interrupted.map(({ userKey: key }) => key));
  notes.recover(interrupted.filter(({ userKey: key, id }) => here.get(key)?.id === id));
}

/** Two users of one site cannot have one id. */
function claimId({ claims }: Run, notes: Notes, id: string, key: string): string | undefined {
  const holder = claims.get(id) ?? notes.holderOf(id);
  if (holder !== undefined && holder !== key) return holder;
  claims.set(id, key);
  return undefined;
}

interface DueUser {
  readonly name: string;
  readonly last: LastFetch | undefined;
}

/** The users whom this run has not visited, each with the last fetch if our copy is still as that left it. */
async function selectDue(names: readonly string[], options: MirrorOptions, run: Run): Promise<DueUser[]> {
  const { notes, local } = options;
  run.claims.clear();
  const due = names
    .map((name) => ({ name, note: notes.get(userKey(name)) }))
    .filter(({ note }) => !note.done);
  run.skipped += names.length - due.length;
  run.visited += names.length - due.length;
  const fetched = due.filter(({ note }) => note.lastFetch !== undefined);
  if (fetched.length === 0) return due.map(({ name }) => ({ name, last: undefined }));
  const here = await local.users(fetched.map(({ name }) => userKey(name)));
  return due.map(({ name, note: { lastFetch } }) => {
    const intact = lastFetch !== undefined && here.get(userKey(name))?.version === lastFetch.localVersion;
    return { name, last: intact ? lastFetch : undefined };
  });
}

type Visitor = ReturnType<typeof createVisitor>;

/** Several at a time; the visits come in the order of the users. */
async function visitAll(
  due: readonly DueUser[],
  visitor: Visitor,
  options: MirrorOptions,
  run: Run,
): Promise<Visit[]> {
  const visits: Visit[] = [];
  const queue = due.entries();
  const worker = async () => {
    for (const [index, user] of queue) {
      if (run.stopped !== undefined) return;
      const visit = await visitOne(user, visitor, options, run);
      if (visit === undefined) continue;
      visits[index] = visit;
      run.visited++;
      const { visited: users, skipped } = run;
      options.onProgress({ users, skipped, totalUsers: options.list.size() });
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, worker));
  return visits.filter((visit) => visit !== undefined);
}

/** One visit; undefined when the run has been stopped in the meantime. */
async function visitOne(
  { name, last }: DueUser,
  visitor: Visitor,
  { signal, onFault }: MirrorOptions,
  run: Run,
): Promise<Visit | undefined> {
  try {
    signal.throwIfAborted();
    const visit = await visitor.visit(name, last);
    run.failuresInRow = 0;
    return visit;
  } catch (error) {
    if (signal.aborted) run.stopped ??= 'stopped';
    else if (error instanceof SiteClosed) run.stopped ??= `given up: ${error.message}`;
    else if (error instanceof SiteError) {
      run.failuresInRow = error.siteDown ? run.failuresInRow + 1 : 0;
      if (run.failuresInRow >= MAX_FAILURES)
        run.stopped ??= `given up: ${MAX_FAILURES} users failed in a row`;
      onFault(error.message);
      return { name, outcome: 'failed', rows: [] };
    } else throw error;
    return undefined;
  }
}

/** Loads a batch, then notes it: whoever is in the notes is surely in the store. */
async function loadAndNote(
  visits: readonly Visit[],
  visitor: Visitor,
  options: MirrorOptions,
  run: Run,
): Promise<void> {
  const { writer, notes } = options;
  const conflicts = await findConflicts(visits, options);
  const loadable = visits.filter((visit) => visit.rows.length > 0 && !conflicts.has(visit));
  notes.begin(loadable.map(({ name, fetched }) => ({ userKey: userKey(name), id: fetched?.id as string })));
  const { tallies, misfits } = await loadVisits(writer, loadable);
  if (tallies !== undefined) addTallies(run.tallies, tallies);
  for (const [{ name }, { lookup, member, reason, got }] of [...conflicts, ...misfits])
    visitor.report(name, lookup, member, reason, got);

  const done: Visit[] = [];
  for (const visit of visits) {
    const outcome = conflicts.has(visit) ? 'refused' : misfits.has(visit) ? 'failed' : visit.outcome;
    run.counts[outcome]++;
    if (outcome !== 'refused' && outcome !== 'failed') done.push(visit);
  }
  await note(done, options);
}

async function note(visits: readonly Visit[], { local, notes }: MirrorOptions): Promise<void> {
  const here = await local.users(visits.map(({ name }) => userKey(name)));
  notes.save(
    visits.map(({ name, outcome, fetched }) => {
      const key = userKey(name);
      const localVersion = here.get(key)?.version;
      const lastFetch = fetched && localVersion !== undefined ? { ...fetched, localVersion } : undefined;
      return { userKey: key, known: outcome !== 'unknown', id: fetched?.id, lastFetch };
    }),
  );
}

function addTallies(sum: Tallies, tallies: Tallies): void {
  for (const kind of KIND_NAMES)
    for (const column of ['new', 'changed', 'unchanged', 'removed'] as const)
      sum[kind][column] += tallies[kind][column];
}

/** Removes users that the mirror brought and that the site has lost; nobody if it has lost all of them. */
async function pruneGone(anyoneKnown: boolean, options: MirrorOptions, run: Run): Promise<void> {
  const { family, notes, local, writer, signal, onFault } = options;
  if (!anyoneKnown) {
    onFault('the site knows none of these users, which may be a fault of the site: none is removed');
    return;
  }
  for (let gone = notes.gone(''); gone.length > 0; gone = notes.gone(gone.at(-1)?.userKey as string))
    for (const { userKey: key, id } of gone) {
      if (signal.aborted) {
        run.stopped = 'stopped';
        return;
      }
      // Somebody else may have the name by now.
      if ((await local.users([key])).get(key)?.id !== id) continue;
      if ((await writer.remove(family, key)) !== undefined) run.pruned++;
      notes.forget(key);
    }
}
