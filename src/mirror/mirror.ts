// The mirror: batch by batch it visits the users of a site, loads what has changed, and notes what was done; then it prunes.
import { FormatError } from '../formats/entry.ts';
import type { RecordMap } from '../import/map.ts';
import { openRejects, type Rejects } from '../import/rejects.ts';
import { type Family, findKind, KINDS } from '../records/kinds.ts';
import { createMender } from '../records/mending.ts';
import { printable } from '../records/printable.ts';
import { userKey } from '../records/user-name.ts';
import { createSiteClient } from '../remote/site-client.ts';
import { listUsers, type UserList } from '../remote/user-list.ts';
import { createRun, createRunReport, type RunReport, share } from '../runs/each.ts';
import { StoreError } from '../stores/errors.ts';
import { type RemovalLimit, refuseExcess } from '../stores/removal-limit.ts';
import { createTakedownFilter } from '../stores/takedowns.ts';
import { VARIANTS } from '../variants.ts';
import type { Mirror, MirrorOptions, Visit } from './context.ts';
import { loadAndNote, noteRun, readUsers } from './load.ts';
import { createMemory, type LastFetch, type MirrorMemory } from './memory.ts';
import { type MirrorResult, mirrorFailure, mirrorSummary, newCounts } from './report.ts';
import { visitUser } from './visit.ts';

/** A batch ends after so many users, or so many bytes of their records: what it holds must fit into memory. */
const BATCH_USERS = 32;
const BATCH_BYTES = 4 * 1024 * 1024;

export async function runMirror(options: MirrorOptions) {
  using memory = createMemory(options.state, `${options.variant} ${options.from.href}`, options.restart);
  using report = createRunReport(options.out, 'visiting');
  using list = await listUsers(options.users, report.fault, options.signal);
  if (list.total() === 0) return { summary: '', result: null, failure: 'the list of users is empty' };
  return await mirrorList(list, memory, report, options);
}

async function mirrorList(list: UserList, memory: MirrorMemory, report: RunReport, options: MirrorOptions) {
  const { family } = VARIANTS[options.variant];
  const isTakenDown = await forgetTakenDown(memory, family, options);
  const run = createRun({ report, signal: options.signal, total: list.size() });
  const timeout = options.timeout * 1000;
  const asked = { ...options, timeout, signal: run.signal, userAgent: 'vitrine-mirror' };
  using site = createSiteClient({ ...asked, base: options.from });
  using failedFile = options.failed === undefined ? undefined : openRejects(options.failed, []);
  const recordMap = options.map === undefined ? undefined : await loadMirrorMap(options.map);
  const reading = `${options.unescape ? 'unescaped ' : ''}${recordMap?.version ?? ''}`;
  const mender = createMender(options, true);
  const counts = newCounts(mender.counts);
  const batch = { claims: new Map(), failures: new Map() };
  const context = {
    family,
    memory,
    run,
    site,
    counts,
    mender,
    recordMap,
    reading,
    isTakenDown,
    ...batch,
    onFault: report.fault,
  };
  const mirror: Mirror = { ...options, ...context };
  await mirrorUsers(list, mirror, failedFile);
  const anyoneKnown = counts.users.refused > 0 || memory.anyoneKnown();
  const refusal = run.stopped() === undefined ? await finish(mirror, anyoneKnown) : undefined;
  const result: MirrorResult = { ...counts, skipped: run.skipped(), stopped: run.stopped(), anyoneKnown };
  const failure = mirrorFailure(result, { total: list.total(), unusable: list.invalid(), refusal });
  failedFile?.commit();
  return { summary: mirrorSummary(result), result, failure };
}

async function loadMirrorMap(path: string): Promise<RecordMap> {
  const { loadMap } = await import('../import/map.ts');
  const map = await loadMap(path);
  if (map.hasEnd) throw new FormatError(`${path}: a mirror goes user by user and never calls end`);
  return map;
}

/** Erases users who were taken down since the last run. The store leaves out those who are taken down during this one. */
async function forgetTakenDown(
  memory: MirrorMemory,
  family: Family,
  { openArchive }: MirrorOptions,
): Promise<Mirror['isTakenDown']> {
  await using archive = await openArchive();
  const takedowns = await archive.takedowns();
  const isTakenDown = createTakedownFilter(takedowns, family);
  if (takedowns.entries.length > 0)
    memory.erase(({ userKey, id }) => isTakenDown('name', userKey) || (id !== '' && isTakenDown('id', id)));
  return isTakenDown;
}

async function mirrorUsers(list: UserList, mirror: Mirror, failedFile: Rejects | undefined): Promise<void> {
  const { run, claims, failures } = mirror;
  const queue = dueUsers(list, mirror);
  while (run.stopped() === undefined) {
    const visits = await visitBatch(queue, mirror);
    if (visits.length === 0) return;
    await loadAndNote(visits, mirror);
    for (const [name, reason] of failures) failedFile?.add(`${name}\t${printable(reason)}`);
    failures.clear();
    claims.clear();
  }
}

interface DueUser {
  readonly name: string;
  readonly key: string;
  /** The last fetch, if our copy is still as that left it. */
  readonly last: LastFetch | undefined;
}

/** The users whom this run has to visit. */
async function* dueUsers(list: UserList, mirror: Mirror): AsyncGenerator<DueUser> {
  const { memory, run, counts, isTakenDown } = mirror;
  for (const names of list.pages(BATCH_USERS)) {
    const users = names.map((name) => ({ name, key: userKey(name) }));
    const wanted = users.filter(({ key }) => !isTakenDown('name', key));
    counts.users.takenDown += users.length - wanted.length;
    const due = wanted.map((user) => ({ ...user, ...memory.get(user.key) })).filter(({ done }) => !done);
    run.skip(wanted.length - due.length);
    const fetched = due.filter(({ lastFetch }) => lastFetch !== undefined).map(({ key }) => key);
    const here = await readUsers(mirror, fetched);
    for (const { name, key, lastFetch } of due) {
      const isIntact =
        lastFetch !== undefined &&
        here.get(key)?.version === lastFetch.localVersion &&
        (lastFetch.reading ?? '') === mirror.reading;
      yield { name, key, last: isIntact ? lastFetch : undefined };
    }
  }
}

/** Visits users of the queue until it is empty or the batch is full; the visits come in the order of the users. */
async function visitBatch(queue: AsyncGenerator<DueUser>, mirror: Mirror): Promise<Visit[]> {
  const visits: Visit[] = [];
  let begun = 0;
  let bytes = 0;
  async function* batch() {
    while (begun < BATCH_USERS && bytes < BATCH_BYTES) {
      const next = await queue.next();
      if (next.done) return;
      yield { ...next.value, index: begun++ };
    }
  }
  await mirror.run.each(
    share(batch(), mirror.concurrency),
    async ({ index, name, key, last }) => {
      const visit = { name, key, ...(await visitUser(name, last, mirror)) };
      visits[index] = visit;
      for (const { record } of visit.rows) bytes += record.length;
    },
    ({ index, name, key }, { message }) => {
      mirror.failures.set(name, message);
      visits[index] = { name, key, outcome: 'failed', rows: [] };
    },
  );
  return visits.filter((visit) => visit !== undefined);
}

/** Ends a complete run, and prunes if that was asked for. Returns why pruning was refused. */
async function finish(mirror: Mirror, anyoneKnown: boolean): Promise<string | undefined> {
  const { memory, writer, prune, maxRemoved } = mirror;
  const nobodyKnown = anyoneKnown ? undefined : 'nobody is removed';
  const refusal = prune ? (nobodyKnown ?? (await pruneGone(mirror, maxRemoved))) : undefined;
  memory.finish();
  // In a database without users, a load of nothing would count as the first import.
  if (memory.anyoneKnown()) await noteRun(writer);
  return refusal;
}

/** Removes users that the mirror brought and that the site does not know any more. Returns why that was refused. */
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
  const kind = findKind(family, 'profile');
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
