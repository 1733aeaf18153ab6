// What a check is, and what it can find.
import { brief } from '../records/printable.ts';
import type { Deployment } from './deployment.ts';

export type ProxyName = 'nginx' | 'caddy' | 'haproxy' | 'varnish';

export interface Check {
  readonly name: string;
  /** Whether it can be made with an existing user only. */
  readonly needsUser?: boolean;
  /** Whether it concerns the buffers, the cache or the connections of a proxy, which published files do without. */
  readonly ofProxy?: boolean;
  readonly run: (deployment: Deployment) => Promise<Finding>;
  /** What to do about it. */
  readonly advice: string;
  /** A part of a line that `vitrine print` prints for the proxy, and that does it right. */
  readonly lines?: Partial<Record<ProxyName, string>>;
}

export interface Finding {
  readonly state: 'ok' | 'broken' | 'could not tell';
  /** What was seen, as a sentence. */
  readonly text: string;
  /** Whether the remedy is shown although nothing is known to be broken. */
  readonly suggest?: boolean;
  /** Whether the deployment counts as unchecked. Other things that could not be told are harmless. */
  readonly unchecked?: boolean;
}

export const ok = (text: string): Finding => ({ state: 'ok', text });
export const broken = (text: string): Finding => ({ state: 'broken', text });
export const unclear = (text: string): Finding => ({ state: 'could not tell', text });
export const unchecked = (text: string): Finding => ({ ...unclear(text), unchecked: true });
/** Nothing is known to be broken, but the remedy may be of use. */
export const suggestion = (text: string): Finding => ({ ...unclear(text), suggest: true });

export const NEEDS_USER = unchecked('needs an existing user: specify one with --user NAME');

/** Text of the other server, safe to print. */
export const quoted = (text: string | undefined) => `"${brief(text ?? '')}"`;
