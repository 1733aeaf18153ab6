// Environment variables that look like a setting but are none: a misspelt name would be ignored without a word.
import { SETTING_NAMES, variableName } from './config.ts';

/** A sentence for each variable whose name is nearly that of a setting. */
export function lookalikes(environment: Record<string, string | undefined>): string[] {
  const settings = SETTING_NAMES.map(variableName);
  return Object.keys(environment).flatMap((name) => {
    if (environment[name] === undefined || settings.includes(name)) return [];
    const meant = settings
      .filter((setting) => Math.abs(setting.length - name.length) <= tolerance(setting))
      .map((setting) => ({ setting, distance: distance(name.toUpperCase(), setting) }))
      .filter(({ setting, distance }) => distance <= tolerance(setting))
      .sort((a, b) => a.distance - b.distance)[0];
    return meant === undefined ? [] : [`${name} is not a setting: did you mean ${meant.setting}?`];
  });
}

/** Short names have neighbours of their own, such as HOME and HOST: of those only the letter case may differ. */
const tolerance = ({ length }: string) => (length < 6 ? 0 : length < 9 ? 1 : 2);

/** How many letters must be inserted, removed or replaced to make one text the other. */
function distance(one: string, two: string): number {
  let row = Array.from(`_${two}`, (_, column) => column);
  for (const letter of one) {
    const next: number[] = [];
    for (const [column, above] of row.entries()) {
      const replaced = (row[column - 1] ?? Infinity) + (letter === two[column - 1] ? 0 : 1);
      next.push(Math.min(above + 1, (next.at(-1) ?? Infinity) + 1, replaced));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
