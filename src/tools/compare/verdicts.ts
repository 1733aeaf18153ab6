// What a comparison can come to, for one answer, for a user, and for all of them: counts, the summary, and why it failed.

import { counted, countedPart, joinReasons, table } from '../../records/printable.ts';
import { createTable } from '../../records/tables.ts';

/** From the best to the worst. */
const VERDICTS = [
  /** Neither site knows the user. */
  'unknown',
  'same bytes',
  /** The same records in another form: order, spacing, numbers instead of strings. */
  'same meaning',
  /** Addresses of pictures differ and lead to the same bytes. */
  'pictures',
  /** The new site has newer items, or lacks the newest of the old one. */
  'newer',
  'older',
  /** The new site has taken the user down (status 410). */
  'taken down',
  'different',
  /** Only one of the sites has it. */
  'missing',
] as const;

type Verdict = (typeof VERDICTS)[number];
export type SiteSide = 'old' | 'new';

export const isFault = (verdict: Verdict) => verdict === 'different' || verdict === 'missing';

/** The verdict on a user: the worse of both answers. */
function worse(one: Verdict, other: Verdict | undefined): Verdict {
  return other !== undefined && VERDICTS.indexOf(other) > VERDICTS.indexOf(one) ? other : one;
}

export interface Difference {
  /** The id of the item; a profile has none. */
  readonly item?: string;
  /** `record` for what is wrong with a body or an item as a whole. */
  readonly member: string;
  readonly old: string;
  readonly new: string;
  /** What became of comparing the pictures. */
  readonly reason?: string;
}

/** A comparison of two answers, as it stands in the report. */
export interface AnswerComparison {
  readonly class: Verdict;
  /** The SHA-256 of each body; null where there is none. */
  readonly old: string | null;
  readonly new: string | null;
  readonly differences?: readonly Difference[];
}

/** A line of the report. */
export interface UserComparison {
  readonly user: string;
  readonly profile: AnswerComparison;
  /** Null if the profile is not on both sites: its items are not asked for. */
  readonly items: AnswerComparison | null;
}

type Counts = Record<Verdict, number>;

export interface VerdictTally {
  /** Each by the worse of both answers. */
  readonly users: Counts;
  readonly profiles: Counts;
  readonly items: Counts;
  /** Users without answers to compare. */
  failed: number;
}

const zeros = () => createTable(VERDICTS, () => 0);

export const newTally = (): VerdictTally => ({
  users: zeros(),
  profiles: zeros(),
  items: zeros(),
  failed: 0,
});

export function addUser(tally: VerdictTally, { profile, items }: UserComparison): void {
  tally.users[worse(profile.class, items?.class)]++;
  tally.profiles[profile.class]++;
  if (items !== null) tally.items[items.class]++;
}

export function summarise({ failed, ...counts }: VerdictTally): string {
  const rows = VERDICTS.map((name) => [name, counts.users[name], counts.profiles[name], counts.items[name]]);
  const lines = table([['', 'users', 'profiles', 'items'], ...rows]);
  return failed > 0 ? `${lines}\n${counted(failed, 'user')} not compared` : lines;
}

/** Why the sites are not alike; undefined if they are. */
export function describeFailure(
  { users, failed }: VerdictTally,
  total: number,
  stopped: string | undefined,
): string | undefined {
  const compared = VERDICTS.reduce((sum, name) => sum + users[name], failed);
  return joinReasons(
    stopped !== undefined && `${stopped}; ${countedPart(total - compared, total, 'user')} left`,
    users.unknown === total && 'neither site knows any of the users: check the addresses and --variant',
    users.different > 0 && `${countedPart(users.different, total, 'user')} different`,
    users.missing > 0 && `${countedPart(users.missing, total, 'user')} missing on one site`,
    failed > 0 && `${failed} of ${counted(total, 'user')} could not be compared`,
  );
}
