// The mirror: batch by batch it visits the users of a site, loads what has changed, and notes what was done; then it prunes.
import type { Terminal } from '../files/terminal.ts';
import { openRejects, type Rejects } from '../import/rejects.ts';
import { type Family, KINDS, kindOf } from '../records/kinds.ts';
import { printable } from '../records/printable.ts';
import { userKey } from '../records/user-name.ts';
import { createSiteClient, type SiteOptions } from '../remote/site-client.ts';
import { listUsers, type UserList, type UserSource } from '../remote/user-list.ts';
import { createRun, type Run, share } from '../runs/each.ts';
import { createRunReport, type RunReport } from '../runs/report.ts';
import { StoreError } from '../stores/errors.ts';
import { type RemovalLimit, refuseExcess } from '../stores/removal-limit.ts';
import { type Connection, openScratch } from '../stores/sqlite/connect.ts';
import { createTakedownFilter } from '../stores/takedowns.ts';
import { VARIANTS } from '../variants.ts';
import { type LoadOptions, loadAndNote, noteRun, recoverInterrupted } from './load.ts';
import { createMemory, type MirrorMemory } from './memory.ts';
import { readUsers } from './ownership.ts';
import { type MirrorResult, mirrorFailure, mirrorSummary, newCounts } from './report.ts';
import { openState } from './state-file.ts';
import { createVisitor, type LastFetch, type TakedownFilter, type Visit, type Visitor } from './visit.ts';

/** The flags of the command that are passed on as they are. */
export interface MirrorFlags extends Omit<SiteOptions, 'base' | 'userAgent' | 'signal'> {
  readonly from: URL;
  /** Whether users that the mirror brought are removed when the site does not know them any more. */
  readonly prune: boolean;
  /** How many that may be at most. */
  readonly maxRemoved: RemovalLimit;
  /** Whether users who are here under the same name and id are taken over. */
  readonly adopt: boolean;
  readonly restart: boolean;
  /** Whether optional members that are not valid are left empty. */
  readonly lenient: boolean;
  /** A file for the users that failed or were refused, with the reasons. */
  readonly failed?: string;
}

export interface MirrorOptions
  extends MirrorFlags,
    Pick<LoadOptions, 'openReader' | 'openArchive' | 'writer'> {
  readonly users: UserSource;
  /** The path of the state file. */
  readonly state: string;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

export interface MirrorOutcome {
  readonly summary?: string;
  readonly result?: MirrorResult;
  readonly failure?: string | undefined;
}

/** A batch ends after so many users, or so many bytes of their records: what it holds must fit into memory. */
const BATCH_USERS = 32;
const BATCH_BYTES = 4 * 1024 * 1024;

export async function runMirror(options: MirrorOptions): Promise<MirrorOutcome> {
  const state = openState(options.state);
  const scratch = openScratch();
  const report = createRunReport(options.out, 'visiting');
  try {
    const list = await listUsers(options.users, scratch, report.fault, options.signal);
    if (list.size() + list.faults() === 0) return { failure: 'the list of users is empty' };
    return await mirrorList(list, state, report, options);
  } finally {
    report.close();
    scratch.close();
    state.close();
  }
}

/** What the steps of a run share. */
interface Mirror extends LoadOptions {
  readonly list: UserList;
  readonly run: Run;
  readonly visitor: Visitor;
  readonly concurrency: number;
  /** Whether a user was taken down here, by the key of the name or by id. */
  readonly isTakenDown: TakedownFilter;
  /** Of the users of the current batch: the ids that they have, and why some failed or were refused. */
  readonly claims: Map<string, string>;
  readonly failures: Map<string, string>;
  readonly failedFile: Rejects | undefined;
}

async function mirrorList(
  list: UserList,
  state: Connection,
  report: RunReport,
  options: MirrorOptions,
): Promise<MirrorOutcome> {
  const { from, variant, prune } = options;
  const { family } = VARIANTS[variant];
  const memory = createMemory(state, `${variant} ${from.href}`, options.restart);
  const isTakenDown = await forgetTakenDown(memory, family, options);
  const run = createRun({ report, signal: options.signal, total: list.size() });
  const timeout = options.timeout * 1000;
  const site = createSiteClient({
    ...options,
    base: from,
    userAgent: 'vitrine-mirror',
    timeout,
    signal: run.signal,
  });
  const counts = newCounts();
  const [claims, failures] = [new Map<string, string>(), new Map<string, string>()];
  const visitor = createVisitor({
    ...{ ...options, family, site, memory, claims, failures, isTakenDown, onFault: report.fault },
    onEmptied: (member) => {
      counts.emptied[member] = (counts.emptied[member] ?? 0) + 1;
    },
  });
  const failedFile = options.failed === undefined ? undefined : openRejects(options.failed, []);
  const context = { family, memory, list, run, visitor, claims, failures, failedFile, counts, isTakenDown };
  const mirror: Mirror = { ...options, ...context, onRefusal: visitor.report };
  try {
    await recoverInterrupted(mirror);
    await mirrorUsers(mirror);
    const anyoneKnown = counts.users.refused > 0 || memory.anyoneKnown();
    let refusal: string | undefined;
    if (run.stopped() === undefined) {
      if (prune) refusal = anyoneKnown ? await pruneGone(mirror, options.maxRemoved) : NOBODY_KNOWN;
      memory.finish();
      // In a database without users, a load of nothing would count as the first import.
      if (memory.anyoneKnown()) await noteRun(options.writer);
    }
    const result = { ...counts, skipped: run.skipped(), stopped: run.stopped(), anyoneKnown };
    const total = list.size() + list.faults();
    const failure = mirrorFailure(result, { total, unusable: list.faults(), refusal });
    failedFile?.commit();
    return { summary: mirrorSummary(result), result, failure };
  } finally {
    failedFile?.close();
    site.close();
  }
}

/** Erases whom a takedown has met since the last run. Whom one meets during this run, the store leaves out. */
async function forgetTakenDown(
  memory: MirrorMemory,
  family: Family,
  { openReader }: MirrorOptions,
): Promise<TakedownFilter> {
  const reader = await openReader();
  try {
    const takedowns = await reader.takedowns();
    const isTakenDown = createTakedownFilter(takedowns, family);
    if (takedowns.entries.length > 0)
      memory.erase(
        ({ userKey, id }) => isTakenDown('name', userKey) || (id !== null && isTakenDown('id', id)),
      );
    return isTakenDown;
  } finally {
    await reader.close();
  }
}

async function mirrorUsers(mirror: Mirror): Promise<void> {
  const { list, run, claims, failures, failedFile } = mirror;
  for (const names of list.batches(BATCH_USERS)) {
    claims.clear();
    const queue = (await selectDue(names, mirror)).entries();
    for (;;) {
      const visits = await visitSome(queue, mirror);
      if (visits.length > 0) await loadAndNote(visits, mirror);
      for (const [name, reason] of failures) failedFile?.add(`${name}\t${printable(reason)}`);
      failures.clear();
      if (run.stopped() !== undefined) return;
      if (visits.length === 0) break;
    }
  }
}

interface DueUser {
  readonly name: string;
  /** The last fetch, if our copy is still as that left it. */
  readonly last: LastFetch | undefined;
}

/** The users whom this run has to visit. */
async function selectDue(names: readonly string[], mirror: Mirror): Promise<DueUser[]> {
  const { memory, run, counts, isTakenDown } = mirror;
  const wanted = names.filter((name) => !isTakenDown('name', userKey(name)));
  counts.users.takenDown += names.length - wanted.length;
  const due = wanted
    .map((name) => ({ name, note: memory.get(userKey(name)) }))
    .filter(({ note }) => !note.done);
  run.skip(wanted.length - due.length);
  const fetched = due.filter(({ note }) => note.lastFetch !== undefined);
  const here = await readUsers(
    mirror,
    fetched.map(({ name }) => userKey(name)),
  );
  return due.map(({ name, note: { lastFetch } }) => {
    const intact = lastFetch !== undefined && here.get(userKey(name))?.version === lastFetch.localVersion;
    return { name, last: intact ? lastFetch : undefined };
  });
}

/** Visits users of the queue until it is empty or the batch is full; the visits come in the order of the users. */
async function visitSome(
  queue: IterableIterator<[number, DueUser]>,
  { run, visitor, concurrency, failures }: Mirror,
): Promise<Visit[]> {
  const visits: Visit[] = [];
  let bytes = 0;
  function* batch() {
    while (bytes < BATCH_BYTES) {
      const next = queue.next();
      if (next.done) return;
      yield next.value;
    }
  }
  await run.each(
    share(batch(), concurrency),
    async ([index, { name, last }]) => {
      const visit = await visitor.visit(name, last);
      visits[index] = visit;
      for (const { record } of visit.rows) bytes += record.length;
    },
    ([index, { name }], { message }) => {
      failures.set(name, message);
      visits[index] = { name, outcome: 'failed', rows: [] };
    },
  );
  return visits.filter((visit) => visit !== undefined);
}

const NOBODY_KNOWN = 'nobody is removed';

/** Removes users that the mirror brought and that the site does not know any more; why it does not. */
async function pruneGone(mirror: Mirror, limit: RemovalLimit): Promise<string | undefined> {
  const { family, memory, writer, run, counts } = mirror;
  const refusal = await refusePruning(mirror, limit);
  if (refusal !== undefined) return refusal;
  for (let gone = memory.gone(''); gone.length > 0; gone = memory.gone(gone.at(-1)?.userKey as string))
    for (const { userKey: key, id } of gone) {
      if (run.signal.aborted) {
        run.stop('stopped');
        return undefined;
      }
      // Somebody else may have the name by now.
      if ((await readUsers(mirror, [key])).get(key)?.id !== id) continue;
      if ((await writer.remove(family, key)) !== undefined) counts.pruned++;
      memory.forget(key);
    }
  return undefined;
}

async function refusePruning(
  { family, memory, openReader }: Mirror,
  limit: RemovalLimit,
): Promise<string | undefined> {
  const kind = kindOf(family, 'profile');
  const reader = await openReader();
  try {
    const of = (await reader.counts())[kind];
    refuseExcess('--prune', [{ removed: memory.countGone(), of, plural: KINDS[kind].plural }], limit);
    return undefined;
  } catch (error) {
    if (error instanceof StoreError) return error.message;
    throw error;
  } finally {
    await reader.close();
  }
}
