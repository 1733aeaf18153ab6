// Environment variables that look like a setting but are none: a misspelt name would be ignored without a word.
import { nearest } from '../records/nearest.ts';
import { SETTING_NAMES, variableName } from './config.ts';

/** Environments have many short names of their own. */
const SHORTEST = 5;

/** A sentence for each variable whose name is nearly that of a setting. */
export function lookalikes(environment: Record<string, string | undefined>): string[] {
  const settings = SETTING_NAMES.map(variableName);
  return Object.keys(environment).flatMap((name) => {
    if (environment[name] === undefined || settings.includes(name)) return [];
    const meant = nearest(name, settings, SHORTEST);
    return meant === undefined ? [] : [`${name} is not a setting: did you mean ${meant}?`];
  });
}
