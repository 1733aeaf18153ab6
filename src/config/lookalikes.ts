// Environment variables that look like a setting but are none: a misspelt name would be ignored without a word.
import { nearest } from '../records/nearest.ts';
import type { Environment } from './config.ts';
import { SECRETS } from './secrets.ts';
import { SETTING_NAMES, variableName } from './settings.ts';

/** Environments have many short names of their own. */
const SHORTEST = 5;

const SETTING_VARIABLES = SETTING_NAMES.map(variableName);
const KNOWN = [...SETTING_VARIABLES, ...SECRETS, ...SECRETS.map((name) => `${name}_FILE`)];

/** First words of names that other programs have as well, such as IMAGE_TAG and DATABASE_HOST. */
const SHARED =
  /^(?:ACCESS|ADMIN|BASE|CLOUDFLARE|DATABASE|HOST|IMAGE|KEEP|LOG|MAX|MEDIA|PORT|REQUEST|SITE|WORKERS|WRITE)$/;

/** What systemd, Kubernetes, links of containers and Cloudflare's own programs set, whatever settings there are. */
const FOREIGN =
  /^(?:NOTIFY_SOCKET|CACHE_DIRECTORY|CLOUDFLARE_API_(?:KEY|BASE_URL))$|_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)|_ENV_/;
const FOREIGN_VALUE = /^(?:tcp|udp|sctp):\/\//;

/** The settings and secrets by a beginning that only they have. */
const BY_BEGINNING = Map.groupBy([...SETTING_VARIABLES, ...SECRETS], beginningOf);

/** The first word, or two if the first is shared; undefined if other programs may go on after that. */
function beginningOf(name: string): string | undefined {
  const [first = '', second, third] = name.split('_');
  if (!SHARED.test(first)) return `${first}_`;
  const both = `${first}_${second}`;
  return third === undefined || SETTING_VARIABLES.includes(both) ? undefined : `${both}_`;
}

/** A sentence for each variable with nearly the name of a setting, or with a beginning that only settings have. */
export function lookalikes(environment: Environment): string[] {
  return Object.entries(environment).flatMap(([name, text]) => {
    if (text === undefined || KNOWN.includes(name) || FOREIGN.test(name) || FOREIGN_VALUE.test(text))
      return [];
    const meant = listMeant(name);
    return meant.length === 0 ? [] : [`${name} is not a setting: did you mean ${meant.join(' or ')}?`];
  });
}

/** Of the base URLs all are equally near, so all are named. */
function listMeant(name: string): readonly string[] {
  const near = name.startsWith('BASE_URL_') ? undefined : nearest(name, KNOWN, SHORTEST);
  if (near !== undefined) return [near];
  for (const [beginning, names] of BY_BEGINNING)
    if (beginning !== undefined && name.startsWith(beginning)) return names;
  return [];
}
