// What a request asks for, as metrics and log name it: few names, whatever clients send.
import type { Variant } from '../variants.ts';

export interface Operation {
  readonly variant: Variant | 'none';
  readonly name: 'profile' | 'items' | 'media' | 'probe' | 'page' | 'preflight' | 'other';
}

export const MEDIA: Operation = { variant: 'none', name: 'media' };
export const PROBE: Operation = { variant: 'none', name: 'probe' };
export const PAGE: Operation = { variant: 'none', name: 'page' };
export const PREFLIGHT: Operation = { variant: 'none', name: 'preflight' };
export const OTHER: Operation = { variant: 'none', name: 'other' };

/** The header in which a probe says how it was received: HTTP/1.0 from a proxy cannot be seen from outside. */
export const RECEIVED_OVER = 'x-received-over-http';
