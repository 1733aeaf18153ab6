// Environment variables that look like a setting but are none: a misspelt name would be ignored without a word.
import { SETTING_NAMES, variableName } from './config.ts';

/** A sentence for each variable whose name is nearly that of a setting. */
export function lookalikes(environment: Record<string, string | undefined>): string[] {
  const settings = SETTING_NAMES.map(variableName);
  return Object.keys(environment).flatMap((name) => {
    if (environment[name] === undefined || settings.includes(name)) return [];
    const meant = settings
      .map((setting) => ({ setting, distance: distance(name.toUpperCase(), setting) }))
      .filter(({ setting, distance }) => distance <= tolerance(setting))
      .sort((a, b) => a.distance - b.distance)[0];
    return meant === undefined ? [] : [`${name} is not a setting: did you mean ${meant.setting}?`];
  });
}

/** Short names have neighbours of their own, such as HOME and HOST: of those only the letter case may differ. */
const tolerance = ({ length }: string) => (length < 6 ? 0 : length < 9 ? 1 : 2);

/** How many letters must be inserted, removed, replaced or swapped with the next to make one text the other. */
function distance(one: string, two: string): number {
  const rows = [Array.from({ length: two.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= one.length; row++) {
    rows.push([row]);
    for (let column = 1; column <= two.length; column++) {
      const replaced = at(row - 1, column - 1) + (one[row - 1] === two[column - 1] ? 0 : 1);
      const swapped = one[row - 1] === two[column - 2] && one[row - 2] === two[column - 1];
      rows[row]?.push(
        Math.min(
          replaced,
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          swapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(one.length, two.length);
}
