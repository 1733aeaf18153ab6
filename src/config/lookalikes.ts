// Environment variables with nearly the name of a setting: a misspelt name would be ignored without a word.
import { nearest } from '../records/nearest.ts';
import { VARIANT_NAMES } from '../variants.ts';
import type { Environment } from './config.ts';
import { SECRETS } from './secrets.ts';
import { baseUrlSetting, SETTING_NAMES, variableName } from './settings.ts';

/** Environments have many short names of their own. */
const SHORTEST = 5;

const KNOWN = [...SETTING_NAMES.map(variableName), ...SECRETS, ...SECRETS.map((name) => `${name}_FILE`)];
const BASE_URLS = VARIANT_NAMES.map((variant) => variableName(baseUrlSetting(variant)));

/** systemd sets it for services, and it is as near to NOTIFY_SECRET as a mistake. */
const OF_SYSTEMD = 'NOTIFY_SOCKET';

/** A sentence for each such variable. */
export function lookalikes(environment: Environment): string[] {
  return Object.entries(environment).flatMap(([name, text]) => {
    if (text === undefined || name === OF_SYSTEMD || KNOWN.includes(name)) return [];
    const near = nearest(name, KNOWN, SHORTEST);
    if (near === undefined) return [];
    // Of the base URLs all are equally near.
    const meant = BASE_URLS.includes(near) ? BASE_URLS : [near];
    return [`${name} is not a setting: did you mean ${meant.join(' or ')}?`];
  });
}
