// What a check is, and what it can find.
import { brief } from '../records/printable.ts';
import type { ExaminedSite } from './site.ts';

export interface Check {
  readonly name: string;
  /** Whether it can be made with an existing user only. */
  readonly needsUser?: boolean;
  /** Whether it concerns the buffers, the cache or the connections of a proxy, which published files do without. */
  readonly ofProxy?: boolean;
  readonly run: (site: ExaminedSite) => Promise<Finding>;
  /** What to do about it. */
  readonly advice: string;
}

export interface Finding {
  readonly state: 'ok' | 'broken' | 'could not tell';
  /** What was seen, as a sentence. */
  readonly text: string;
  /** In place of the advice of the check. */
  readonly advice?: string | undefined;
  /** Whether the remedy is shown although nothing is known to be broken. */
  readonly suggest?: boolean;
  /** Whether the site counts as unchecked. Other things that could not be found out are harmless. */
  readonly unchecked?: boolean;
}

export const ok = (text: string): Finding => ({ state: 'ok', text });
export const broken = (text: string, advice?: string): Finding => ({ state: 'broken', text, advice });
export const unclear = (text: string): Finding => ({ state: 'could not tell', text });
export const unchecked = (text: string): Finding => ({ ...unclear(text), unchecked: true });
/** Nothing is known to be broken, but the remedy may be of use. */
export const suggestion = (text: string): Finding => ({ ...unclear(text), suggest: true });

export const NEEDS_USER = unchecked('needs an existing user: specify one with --user NAME');

/** Text of the other server, safe to print. */
export const quoted = (text: string | undefined) => `"${brief(text ?? '')}"`;
