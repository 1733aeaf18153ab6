// The visits to a batch of users, several at a time.
import { userKey } from '../records/user-name.ts';
import { SiteClosed, SiteError } from '../remote/polite-requests.ts';
import type { MirrorOptions, Run } from './mirror-run.ts';
import type { LastFetch, Visit, Visitor } from './visit-user.ts';

/** After this many failures in a row the site counts as down. */
const MAX_FAILURES = 20;

export interface DueUser {
  readonly name: string;
  readonly last: LastFetch | undefined;
}

/** The users whom this run has to visit, each with the last fetch if our copy is still as that left it. */
export async function selectDue(
  names: readonly string[],
  options: MirrorOptions,
  run: Run,
): Promise<DueUser[]> {
  const { notes, local, isTakenDown } = options;
  run.claims.clear();
  const wanted = names.filter((name) => !isTakenDown('name', userKey(name)));
  run.counts.takenDown += names.length - wanted.length;
  const due = wanted
    .map((name) => ({ name, note: notes.get(userKey(name)) }))
    .filter(({ note }) => !note.done);
  run.skipped += wanted.length - due.length;
  run.visited += names.length - due.length;
  const fetched = due.filter(({ note }) => note.lastFetch !== undefined);
  if (fetched.length === 0) return due.map(({ name }) => ({ name, last: undefined }));
  const here = await local.users(fetched.map(({ name }) => userKey(name)));
  return due.map(({ name, note: { lastFetch } }) => {
    const intact = lastFetch !== undefined && here.get(userKey(name))?.version === lastFetch.localVersion;
    return { name, last: intact ? lastFetch : undefined };
  });
}

/** Several at a time; the visits come in the order of the users. */
export async function visitAll(
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
