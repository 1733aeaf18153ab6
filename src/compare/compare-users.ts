// Compares the users of a list, several at a time.
import { brief } from '../records/printable.ts';
import { SiteClosed, SiteError } from '../remote/polite-requests.ts';
import type { UserList } from '../remote/user-list.ts';
import type { VisitProgress } from '../runs/report.ts';
import { type Compared, type ComparedUser, isFault } from './classes.ts';
import type { UserComparer } from './compare-user.ts';
import { addUser, type Tally } from './tally.ts';

export interface CompareOptions {
  readonly list: UserList;
  /** How many users an earlier run has compared. */
  readonly skipped: number;
  readonly compare: UserComparer;
  readonly tally: Tally;
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly onUser: (line: ComparedUser) => void;
  readonly onProgress: (progress: VisitProgress) => void;
  readonly onFault: (line: string) => void;
}

const BATCH = 1000;
/** After this many failures in a row a site counts as down. */
const MAX_FAILURES = 20;
const MEMBERS_SHOWN = 5;
const LONGEST_REASON = 200;

/** Why the run ended before the last user; undefined if it did not. */
export async function compareUsers(options: CompareOptions): Promise<string | undefined> {
  const { list, skipped, compare, tally, signal, onFault, onUser } = options;
  const queue = namesOf(list);
  let stopped: string | undefined;
  let fatal: unknown;
  let failuresInRow = 0;
  let users = skipped;

  async function compareOne(user: string): Promise<void> {
    try {
      signal.throwIfAborted();
      const line = await compare(user);
      failuresInRow = 0;
      onUser(line);
      addUser(tally, line);
      for (const text of faultsOf(line)) onFault(text);
    } catch (error) {
      if (signal.aborted) stopped ??= 'stopped';
      else if (error instanceof SiteClosed) stopped ??= `given up: ${error.message}`;
      else if (error instanceof SiteError) {
        tally.failed++;
        onFault(error.message);
        failuresInRow = error.siteDown ? failuresInRow + 1 : 0;
        if (failuresInRow >= MAX_FAILURES) stopped ??= `given up: ${MAX_FAILURES} users failed in a row`;
      } else {
        stopped ??= 'failed';
        fatal ??= error;
      }
    }
  }

  async function work(): Promise<void> {
    for (const user of queue) {
      if (stopped === undefined) await compareOne(user);
      if (stopped !== undefined) return;
      users++;
      options.onProgress({ users, skipped, totalUsers: list.size() + skipped });
    }
  }

  await Promise.all(Array.from({ length: options.concurrency }, work));
  if (fatal !== undefined) throw fatal;
  return stopped;
}

function* namesOf(list: UserList): Generator<string> {
  for (const names of list.batches(BATCH)) yield* names;
}

/** A line for each answer that is different or missing. */
function faultsOf({ user, profile, items }: ComparedUser): string[] {
  const answers = [
    ['profile', profile],
    ['items', items],
  ] as const;
  return answers.flatMap(([lookup, compared]) =>
    compared !== null && isFault(compared.class) ? [`${brief(user)}: ${lookup} ${sentenceOf(compared)}`] : [],
  );
}

function sentenceOf({ class: found, old: onOld, differences = [] }: Compared): string {
  if (found === 'missing') return `missing on the ${onOld === null ? 'old' : 'new'} site`;
  const members = differences.slice(0, MEMBERS_SHOWN).map(({ item, member, reason }) => {
    const name = item === undefined ? member : `${member} of ${brief(item)}`;
    return reason === undefined ? name : `${name} (${brief(reason, LONGEST_REASON)})`;
  });
  const more = differences.length - members.length;
  return `different: ${members.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
