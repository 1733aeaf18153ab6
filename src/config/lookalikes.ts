// Environment variables that look like a setting but are none: a misspelt name would be ignored without a word.
import { SETTING_NAMES, variableName } from './config.ts';

/** A sentence for each variable whose name is nearly that of a setting. */
export function lookalikes(environment: Record<string, string | undefined>): string[] {
  const settings = SETTING_NAMES.map(variableName);
  return Object.keys(environment).flatMap((name) => {
    if (environment[name] === undefined || settings.includes(name)) return [];
    const meant = [0, 1, 2].flatMap((edits) =>
      settings.filter((setting) => edits <= mostEdits(setting) && isNear(name.toUpperCase(), setting, edits)),
    )[0];
    return meant === undefined ? [] : [`${name} is not a setting: did you mean ${meant}?`];
  });
}

/** Short names have neighbours of their own, such as HOME and HOST: of those only the letter case may differ. */
const mostEdits = ({ length }: string) => (length < 6 ? 0 : length < 9 ? 1 : 2);

/** Whether so many letters inserted, removed or replaced make one text the other. */
function isNear(one: string, two: string, edits: number): boolean {
  if (one === two) return true;
  if (edits === 0) return false;
  let at = 0;
  while (one[at] === two[at]) at++;
  const [a, b, restA, restB] = [one.slice(at), two.slice(at), one.slice(at + 1), two.slice(at + 1)];
  return [[restA, b] as const, [a, restB] as const, [restA, restB] as const].some((pair) =>
    isNear(...pair, edits - 1),
  );
}
