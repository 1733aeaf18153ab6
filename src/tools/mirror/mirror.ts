// The mirror: batch by batch it visits the users of a site, loads what has changed, and notes what was done; then it prunes.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { describeMended, summary } from '../../import/report.ts';
import { createReport } from '../../import/terminal.ts';
import { type Family, findKind, ITEM_CAP, KINDS, perKind } from '../../records/kinds.ts';
import { createMender } from '../../records/mending.ts';
import { counted, countedPart, joinReasons, printable } from '../../records/printable.ts';
import { createTable } from '../../records/tables.ts';
import { userKey } from '../../records/user-name.ts';
import { StoreError } from '../../stores/errors.ts';
import { openLines } from '../../stores/output.ts';
import { refuseExcess, type Tallies } from '../../stores/sql/load.ts';
import { createTakedownFilter } from '../../stores/sql/takedowns.ts';
import { VARIANTS } from '../../variants.ts';
import { createRun } from '../remote/each.ts';
import { createHosts } from '../remote/host.ts';
import { createSiteClient } from '../remote/site-client.ts';
import { listUsers, type UserList } from '../remote/user-list.ts';
import type { Mirror, MirrorOptions, Visit } from './context.ts';
import { loadAndNote, noteRun, readUsers, warn } from './load.ts';
import { createMemory, type LastFetch, type MirrorMemory, tryNote } from './memory.ts';
import { visitUser } from './visit.ts';

/** A batch ends after this number of users or bytes of their records: it must fit into memory. */
const BATCH_USERS = 32;
const BATCH_BYTES = 4 * 1024 * 1024;

export async function runMirror(options: MirrorOptions) {
  const { variant, from, signal, users, failed } = options;
  const { family } = VARIANTS[variant];
  using report = createReport(options.out);
  using list = await listUsers(users, report.fault, signal);
  const inputs = 'file' in users ? [users.file] : [];
  using failedFile = failed === undefined ? undefined : openLines(failed, inputs);
  using memory = createMemory(options.state, `${variant} ${from.href}`);
  const run = createRun({ report, doing: 'visiting', noun: 'users', signal, total: list.size() });
  using hosts = createHosts({ ...options, signal: run.signal, userAgent: 'vitrine-mirror' });
  const mirror: Mirror = {
    options,
    family,
    memory,
    run,
    site: createSiteClient(hosts, from, variant),
    counts: newCounts(),
    tallies: newTallies(),
    mender: createMender(options, true),
    isTakenDown: await forgetTakenDown(memory, family, options),
    batchIds: new Map(),
    onFault: report.fault,
    noteFailure: (name, reason) => failedFile?.add(`${name}\t${printable(reason)}`),
  };
  // What was imported by then stays, and is reported.
  await mirrorUsers(list, mirror).catch((error) => giveUp(error, mirror));
  report.step('comparing with the users who are here');
  const refusal = run.stopped() === undefined ? await finish(mirror) : undefined;
  failedFile?.commit();
  return describeMirror(mirror, { total: list.total(), invalid: list.invalid(), refusal });
}

/** Erases users that were taken down since the last run. The store leaves out those that are taken down during this one. */
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

async function mirrorUsers(list: UserList, mirror: Mirror): Promise<void> {
  const queue = dueUsers(list, mirror);
  while (mirror.run.stopped() === undefined) {
    const visits = await visitBatch(queue, mirror);
    if (visits.length === 0) return;
    await loadAndNote(visits, mirror);
    mirror.batchIds.clear();
  }
}

interface DueUser {
  readonly name: string;
  readonly key: string;
  /** The last fetch, if our copy is still as that left it. */
  readonly last: LastFetch | undefined;
}

/** The users that this run has to visit. */
async function* dueUsers(list: UserList, mirror: Mirror): AsyncGenerator<DueUser> {
  const { memory, run, counts, isTakenDown } = mirror;
  for (const names of list.pages(BATCH_USERS)) {
    // Users that are done already take no request, and so would give signals no turn.
    await nextTurn();
    const users = names.map((name) => ({ name, key: userKey(name) }));
    const wanted = users.filter(({ key }) => !isTakenDown('name', key));
    counts.takenDown += users.length - wanted.length;
    const due = wanted.map((user) => ({ ...user, ...memory.get(user.key) })).filter(({ done }) => !done);
    run.skip(wanted.length - due.length);
    const fetched = due.filter(({ lastFetch }) => lastFetch !== undefined).map(({ key }) => key);
    const here = await readUsers(mirror, fetched);
    for (const { name, key, lastFetch } of due) {
      const isIntact = here.get(key)?.version === lastFetch?.localVersion;
      yield { name, key, last: isIntact ? lastFetch : undefined };
    }
  }
}

/** Visits users of the queue until it is empty or the batch is full. */
async function visitBatch(queue: AsyncGenerator<DueUser>, mirror: Mirror): Promise<Visit[]> {
  const visits: Visit[] = [];
  let begun = 0;
  let bytes = 0;
  async function* batch() {
    while (begun < BATCH_USERS && bytes < BATCH_BYTES) {
      const next = await queue.next();
      if (next.done) return;
      begun++;
      yield next.value;
    }
  }
  await mirror.run.each(
    [batch()],
    mirror.options.concurrency,
    async ({ name, key, last }) => {
      const visit = { name, key, ...(await visitUser(name, last, mirror)) };
      visits.push(visit);
      for (const { record } of visit.rows) bytes += record.length;
    },
    ({ name, key }, { message }) => {
      mirror.noteFailure(name, message);
      visits.push({ name, key, outcome: 'failed', rows: [] });
    },
  );
  return visits;
}

/** Ends a complete run, and prunes if that was asked for. Returns why pruning was refused. */
async function finish(mirror: Mirror): Promise<string | undefined> {
  const { memory, options } = mirror;
  const isAnyUserKnown = memory.isAnyUserKnown();
  // If the site knows none of the users, assume a wrong address, not an empty site.
  const refusal = options.prune && isAnyUserKnown ? await pruneGone(mirror).catch(explainRefusal) : undefined;
  if (mirror.run.stopped() !== undefined) return refusal;
  // In a database without users, a load of nothing would count as the first import.
  if (isAnyUserKnown) await noteRun(options.writer).catch((error) => giveUp(error, mirror));
  if (mirror.run.stopped() === undefined) warn(tryNote(memory.finish), mirror);
  return refusal;
}

/** Ends the run at a fault of the database, such as a full disk. */
function giveUp(error: unknown, { run }: Mirror): void {
  run.stop(`given up: ${explainRefusal(error).replace(/\.$/, '')}`);
}

function explainRefusal(error: unknown): string {
  if (error instanceof StoreError) return error.message;
  throw error;
}

/** Removes users that the mirror imported and that the site does not know any more. */
async function pruneGone(mirror: Mirror): Promise<undefined> {
  const { family, memory, run, counts, options } = mirror;
  const gone = memory.gone();
  await refuseTooMany(gone.length, mirror);
  for (const key of gone) {
    await nextTurn();
    if (run.stopped() !== undefined) return;
    const here = (await readUsers(mirror, [key])).get(key);
    // Another user may have the name by now.
    if (here === undefined || !memory.importedByMirror(key, here.id)) continue;
    if ((await options.writer.remove(family, key)) !== undefined) counts.pruned++;
    warn(
      tryNote(() => memory.forget(key)),
      mirror,
    );
  }
}

async function refuseTooMany(removed: number, { family, options }: Mirror): Promise<void> {
  const kind = findKind(family, 'profile');
  await using archive = await options.openArchive();
  const { [kind]: of } = await archive.counts();
  refuseExcess('--prune', [{ removed, of, plural: KINDS[kind].plural }], options.maxRemoved);
}

// What a mirror has come to, for programs and for people, and why it failed.

const COUNTS = [
  'found',
  'unchanged',
  'unknown',
  'refused',
  'failed',
  'takenDown',
  'pruned',
  'fullLists',
] as const;
const newCounts = () => createTable(COUNTS, () => 0);

const newTally = () => ({ new: 0, changed: 0, unchanged: 0, removed: 0, takenDown: 0 });
const newTallies = (): Tallies => perKind(newTally);

const olderItems = (users: number) =>
  `full lists: ${counted(users, 'user')}. A list has the newest ${ITEM_CAP} items, so older items were not copied`;

/** `total` counts all names, `invalid` those that no user can have. `refusal` says why no user was pruned. */
function describeMirror(
  { counts, tallies, mender, run, memory }: Mirror,
  { total, invalid, refusal }: { total: number; invalid: number; refusal: string | undefined },
) {
  const [skipped, stopped] = [run.skipped(), run.stopped()];
  const { found, unchanged, unknown, refused, takenDown, pruned, fullLists } = counts;
  const numbers: [number, string][] = [
    [refused, 'refused'],
    [takenDown, 'taken down here'],
    [skipped, 'already done by the unfinished run'],
    [pruned, 'removed here'],
  ];
  const more = numbers.filter(([count]) => count > 0).map(([count, what]) => `, ${count} ${what}`);
  const users = `users: ${found} found, ${unchanged} unchanged, ${unknown} unknown, ${counts.failed} failed`;
  const isLoaded = Object.values(tallies).some((tally) => Object.values(tally).some((count) => count > 0));
  const failed = counts.failed + invalid;
  return {
    summary: [
      users + more.join(''),
      ...describeMended(mender.counts),
      ...(isLoaded ? [summary(tallies)] : []),
      ...(fullLists > 0 ? [olderItems(fullLists)] : []),
    ].join('\n'),
    result: { users: { ...counts, skipped }, tallies, mended: mender.counts },
    failure: joinReasons(
      stopped !== undefined && `${stopped}; the same command continues where this run ended`,
      stopped === undefined &&
        unknown > 0 &&
        refused === 0 &&
        !memory.isAnyUserKnown() &&
        'the site knows none of the users it was asked for: check --from and --variant',
      failed > 0 && `${failed} of ${counted(total, 'user')} failed`,
      refused > 0 &&
        `${countedPart(refused, total, 'user', ['was', 'were'])} refused, because this mirror did not import what is here: ` +
          'use a second database (--database-url) for another site, or --adopt for users of this site',
      refusal,
    ),
    /** Whether the run came to its end and has copied a user. */
    isComplete: stopped === undefined && found + unchanged + skipped > 0,
  };
}
