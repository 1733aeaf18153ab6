// What must hold after a command of which a call failed, a sentence for each thing that does not.
import type { Ran } from '../support/run.ts';
import type { Scenario } from './scenarios.ts';

/** What a scenario leaves: the database and what else it makes, as texts. */
export interface State {
  readonly database: string;
  readonly output: string;
  readonly faults: string;
}
export type Outcome = Ran & { readonly hangs: boolean };

/** What it is before and after the command, after another one, and the files that may be there. */
export interface Expected {
  readonly old: State;
  readonly done: State;
  readonly repeated: State;
  readonly files: ReadonlySet<string>;
}

export const STACK_TRACE = /^\s+at .*:\d+:\d+/m;

/** Names that differ from run to run. */
export const shorten = (text: string) =>
  text
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID')
    .replace(/\b[0-9a-f]{64}\b/g, 'SHA256')
    .replace(/vitrine-served-\w{6}/, 'vitrine-served-X')
    .replace(/\d{8}T\d{6}Z/, 'TIME');

/** Which state it is; a resumed command may leave any that is sound. */
export function judgeLeft({ isResumed }: Scenario, left: State, { old, done }: Expected) {
  const wrong: string[] = [];
  const of = (part: 'database' | 'output') => [old[part], done[part]].includes(left[part]);
  if (!of('database') && !isResumed) wrong.push(`the database is ${left.database}, neither old nor new`);
  if (!of('output') && !isResumed) wrong.push(`what it makes is ${left.output}, neither old nor new`);
  const isNamed = left.faults.includes('if that was interrupted, run `vitrine import` again');
  if (left.faults !== '' && left.faults !== old.faults && !isNamed) wrong.push(`check says ${left.faults}`);
  return wrong;
}

export function judgeReport(
  { isResumed }: Scenario,
  { code, stderr, hangs }: Outcome,
  left: State,
  { old, done }: Expected,
) {
  const wrong: string[] = [];
  const isNew = left.database === done.database && left.output === done.output;
  const isOld = left.database === old.database && left.output === old.output;
  if (hangs) wrong.push('it hangs');
  if (code !== 0 && code !== 1) wrong.push(`exit code ${code}`);
  // A warning after a commit names what is missing, such as a lost log or rejects in another place.
  const isWarned = left.database === done.database && stderr.includes('warning:');
  if (code === 0 && !isNew && !isWarned) wrong.push('exit code 0, and it is not done');
  if (code === 1 && stderr.trim() === '') wrong.push('exit code 1 without a sentence');
  // A resumed command may fail in a step after the last one that changed something.
  if (code === 1 && isNew && !isOld && !isResumed && !/\bdone\b/.test(stderr))
    wrong.push('exit code 1, and it is done');
  if (STACK_TRACE.test(stderr)) wrong.push('a stack trace');
  return wrong;
}

/** After a repetition: how it ended, what was there before it and is now, and the files. */
export function judgeRepeated(
  { again }: Scenario,
  { code, stderr }: Ran,
  [left, after]: readonly [State, State],
  found: readonly string[],
  { done, repeated, files }: Expected,
) {
  const wrong: string[] = [];
  const isNew = left.database === done.database;
  if (code !== 0 && !(isNew && again?.test(stderr)))
    wrong.push(`repeated, it ends with ${code}: ${stderr.trim()}`);
  for (const part of ['database', 'output'] as const)
    if (![done[part], repeated[part]].includes(after[part]))
      wrong.push(`repeated, the ${part} is ${after[part]}`);
  if (after.faults !== '') wrong.push(`repeated, check says ${after.faults}`);
  const more = found.filter((name) => !files.has(shorten(name)));
  if (more.length > 0) wrong.push(`repeated, these are left: ${more.join(', ')}`);
  return wrong;
}
