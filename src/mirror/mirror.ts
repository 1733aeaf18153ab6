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
import { createTakedownFilter } from '../stores/takedowns.ts';
import { VARIANTS } from '../variants.ts';
import { type LoadOptions, loadAndNote, noteRun } from './load.ts';
import { createMemory, type MirrorMemory } from './memory.ts';
import { readUsers } from './ownership.ts';
import { type MirrorResult, mirrorFailure, mirrorSummary, newCounts } from './report.ts';
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
  readonly summary: string;
  readonly result: MirrorResult | null;
  readonly failure: string | undefined;
}

/** A batch ends after so many users, or so many bytes of their records: what it holds must fit into memory. */
const BATCH_USERS = 32;
const BATCH_BYTES = 4 * 1024 * 1024;

export async function runMirror(options: MirrorOptions): Promise<MirrorOutcome> {
  using memory = createMemory(options.state, `${options.variant} ${options.from.href}`, options.restart);
  using report = createRunReport(options.out, 'visiting');
  using list = await listUsers(options.users, report.fault, options.signal);
  if (list.total() === 0) return { summary: '', result: null, failure: 'the list of users is empty' };
  return await mirrorList(list, memory, report, options);
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
  memory: MirrorMemory,
  report: RunReport,
  options: MirrorOptions,
): Promise<MirrorOutcome> {
  const { from, variant } = options;
  const { family } = VARIANTS[variant];
  const isTakenDown = await forgetTakenDown(memory, family, options);
  const run = createRun({ report, signal: options.signal, total: list.size() });
  const timeout = options.timeout * 1000;
  const pace = { ...options, timeout, signal: run.signal, userAgent: 'vitrine-mirror' };
  using site = createSiteClient({ ...pace, base: from });
  const counts = newCounts();
  const [claims, failures] = [new Map<string, string>(), new Map<string, string>()];
  const visitor = createVisitor({
    ...{ ...options, family, site, memory, claims, failures, isTakenDown, onFault: report.fault },
    onEmptied: (member) => {
      counts.emptied[member] = (counts.emptied[member] ?? 0) + 1;
    },
  });
  using failedFile = options.failed === undefined ? undefined : openRejects(options.failed, []);
  const context = { family, memory, list, run, visitor, claims, failures, failedFile, counts, isTakenDown };
  const mirror: Mirror = { ...options, ...context, onRefusal: visitor.report };
  await mirrorUsers(mirror);
  const anyoneKnown = counts.users.refused > 0 || memory.anyoneKnown();
  const refusal = run.stopped() === undefined ? await finish(mirror, anyoneKnown, options) : undefined;
  const result = { ...counts, skipped: run.skipped(), stopped: run.stopped(), anyoneKnown };
  const failure = mirrorFailure(result, { total: list.total(), unusable: list.invalid(), refusal });
  failedFile?.commit();
  return { summary: mirrorSummary(result), result, failure };
}

/** Erases whom a takedown has met since the last run. Whom one meets during this run, the store leaves out. */
async function forgetTakenDown(
  memory: MirrorMemory,
  family: Family,
  { openArchive }: MirrorOptions,
): Promise<TakedownFilter> {
  await using archive = await openArchive();
  const takedowns = await archive.takedowns();
  const isTakenDown = createTakedownFilter(takedowns, family);
  if (takedowns.entries.length > 0)
    memory.erase(({ userKey, id }) => isTakenDown('name', userKey) || (id !== '' && isTakenDown('id', id)));
  return isTakenDown;
}

async function mirrorUsers(mirror: Mirror): Promise<void> {
  const { run, claims, failures, failedFile } = mirror;
  const queue = dueUsers(mirror);
  while (run.stopped() === undefined) {
    const visits = await visitSome(queue, mirror);
    if (visits.length === 0) return;
    await loadAndNote(visits, mirror);
    for (const [name, reason] of failures) failedFile?.add(`${name}\t${printable(reason)}`);
    failures.clear();
    claims.clear();
  }
}

interface DueUser {
  readonly name: string;
  /** The last fetch, if our copy is still as that left it. */
  readonly last: LastFetch | undefined;
}

/** The users whom this run has to visit. */
async function* dueUsers(mirror: Mirror): AsyncGenerator<DueUser> {
  const { list, memory, run, counts, isTakenDown } = mirror;
  for (const names of list.pages(BATCH_USERS)) {
    const wanted = names.filter((name) => !isTakenDown('name', userKey(name)));
    counts.users.takenDown += names.length - wanted.length;
    const notes = wanted.map((name) => ({ name, key: userKey(name), ...memory.get(userKey(name)) }));
    const due = notes.filter(({ done }) => !done);
    run.skip(notes.length - due.length);
    const fetched = due.filter(({ lastFetch }) => lastFetch !== undefined).map(({ key }) => key);
    const here = await readUsers(mirror, fetched);
    for (const { name, key, lastFetch } of due) {
      const isIntact = lastFetch !== undefined && here.get(key)?.version === lastFetch.localVersion;
      yield { name, last: isIntact ? lastFetch : undefined };
    }
  }
}

/** Visits users of the queue until it is empty or the batch is full; the visits come in the order of the users. */
async function visitSome(
  queue: AsyncGenerator<DueUser>,
  { run, visitor, concurrency, failures }: Mirror,
): Promise<Visit[]> {
  const visits: Visit[] = [];
  let begun = 0;
  let bytes = 0;
  async function* batch() {
    while (begun < BATCH_USERS && bytes < BATCH_BYTES) {
      const next = await queue.next();
      if (next.done) return;
      yield [begun++, next.value] as const;
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

/** Ends a run that has visited everybody; why nobody was pruned, if somebody was to be. */
async function finish(
  mirror: Mirror,
  anyoneKnown: boolean,
  { prune, maxRemoved }: MirrorOptions,
): Promise<string | undefined> {
  const { memory, writer } = mirror;
  const nobodyKnown = anyoneKnown ? undefined : 'nobody is removed';
  const refusal = prune ? (nobodyKnown ?? (await pruneGone(mirror, maxRemoved))) : undefined;
  memory.finish();
  // In a database without users, a load of nothing would count as the first import.
  if (memory.anyoneKnown()) await noteRun(writer);
  return refusal;
}

/** Removes users that the mirror brought and that the site does not know any more; why it does not. */
async function pruneGone(mirror: Mirror, limit: RemovalLimit): Promise<string | undefined> {
  const { family, memory, writer, run, counts } = mirror;
  const gone = memory.gone();
  const refusal = await refusePruning(gone.length, limit, mirror);
  if (refusal !== undefined) return refusal;
  for (const key of gone) {
    if (run.signal.aborted) {
      run.stop('stopped');
      return undefined;
    }
    const here = (await readUsers(mirror, [key])).get(key);
    // Somebody else may have the name by now.
    if (here === undefined || !memory.brought(key, here.id)) continue;
    if ((await writer.remove(family, key)) !== undefined) counts.pruned++;
    memory.forget(key);
  }
  return undefined;
}

async function refusePruning(
  removed: number,
  limit: RemovalLimit,
  { family, openReader }: Mirror,
): Promise<string | undefined> {
  const kind = kindOf(family, 'profile');
  await using reader = await openReader();
  const of = (await reader.counts())[kind];
  try {
    refuseExcess('--prune', [{ removed, of, plural: KINDS[kind].plural }], limit);
    return undefined;
  } catch (error) {
    if (error instanceof StoreError) return error.message;
    throw error;
  }
}
