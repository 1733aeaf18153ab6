// What a comparison has come to: counts by class, the summary, and why it failed.
import { counted, countedOf } from '../records/counted.ts';
import { CLASSES, type Class, type Compared, type ComparedUser, worst } from './classes.ts';

type Counts = Record<Class, number>;

export interface Tally {
  /** Each by the worse of both answers. */
  readonly users: Counts;
  readonly profiles: Counts;
  readonly items: Counts;
  readonly pictures: { compared: number; notCompared: number };
  /** Answers in which members outside the specification differ. */
  outside: number;
  /** Users whose answers could not be had. */
  failed: number;
}

const zeros = () => Object.fromEntries(CLASSES.map((name) => [name, 0])) as Counts;

export function newTally(): Tally {
  const pictures = { compared: 0, notCompared: 0 };
  return { users: zeros(), profiles: zeros(), items: zeros(), pictures, outside: 0, failed: 0 };
}

export function addUser(tally: Tally, { profile, items }: ComparedUser): void {
  tally.users[worst(profile.class, items?.class)]++;
  addAnswer(tally, tally.profiles, profile);
  if (items !== null) addAnswer(tally, tally.items, items);
}

function addAnswer(tally: Tally, counts: Counts, { class: found, outside = [], pictures }: Compared): void {
  counts[found]++;
  if (outside.length > 0) tally.outside++;
  tally.pictures.compared += pictures?.compared ?? 0;
  tally.pictures.notCompared += pictures?.notCompared ?? 0;
}

export function summaryOf({ pictures, outside, failed, ...counts }: Tally): string {
  const width = Math.max(...CLASSES.map(({ length }) => length));
  const row = (name: string, cells: readonly (string | number)[]) =>
    name.padEnd(width) + cells.map((cell) => String(cell).padStart(10)).join('');
  const lines = [
    row('', ['users', 'profiles', 'items']),
    ...CLASSES.filter((name) => name !== 'unknown' || counts.users.unknown > 0).map((name) =>
      row(name, [counts.users[name], counts.profiles[name], counts.items[name]]),
    ),
  ];
  const { compared, notCompared } = pictures;
  if (compared + notCompared > 0)
    lines.push(`pictures with two addresses: ${compared} compared, ${notCompared} not compared`);
  if (outside > 0) lines.push(`members outside the specification differ in ${counted(outside, 'answer')}`);
  if (failed > 0) lines.push(`${counted(failed, 'user')} not compared`);
  return lines.join('\n');
}

export interface Ending {
  /** Of the whole list. */
  readonly total: number;
  readonly stopped: string | undefined;
  /** Whether a run can go on from a report. */
  readonly resumable: boolean;
}

/** Why the sites are not alike; undefined if they are. */
export function failureOf(
  { users, failed }: Tally,
  { total, stopped, resumable }: Ending,
): string | undefined {
  const reasons: string[] = [];
  if (stopped !== undefined)
    reasons.push(resumable ? `${stopped}; the same command continues where this run ended` : stopped);
  else if (failed === 0 && CLASSES.every((name) => name === 'unknown' || users[name] === 0))
    reasons.push('neither site knows any of the users: check the addresses and --variant');
  if (users.different > 0) reasons.push(`${countedOf(users.different, total, 'user')} different`);
  if (users.missing > 0) reasons.push(`${countedOf(users.missing, total, 'user')} missing on one site`);
  if (failed > 0) reasons.push(`${failed} of ${counted(total, 'user')} could not be compared`);
  return reasons.length === 0 ? undefined : reasons.join('; ');
}
