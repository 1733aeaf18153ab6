// What can be asked of Vitrine, as the metrics and the log name it: few names, whatever clients send.

export interface Operation {
  readonly variant: 'a' | 'b' | 'c' | 'none';
  readonly name: 'profile' | 'items' | 'probe' | 'page' | 'preflight' | 'other';
}

export const PROBE: Operation = { variant: 'none', name: 'probe' };
export const PAGE: Operation = { variant: 'none', name: 'page' };
export const PREFLIGHT: Operation = { variant: 'none', name: 'preflight' };
export const OTHER: Operation = { variant: 'none', name: 'other' };

/** The header in which a probe tells how it got here: that a proxy speaks HTTP/1.0 is not seen from outside. */
export const RECEIVED_OVER = 'x-received-over-http';
