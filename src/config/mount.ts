// Where a variant is served: its base address, from BASE_URL_A and its like.

import type { Variant } from '../variants.ts';

/** Where a variant is served: at a path, on one host or on any. */
export interface BaseUrl {
  readonly path: string;
  readonly host: string | undefined;
  /** Scheme and host, if they were given. */
  readonly origin: string | undefined;
}

export interface Mount {
  readonly variant: Variant;
  readonly base: BaseUrl;
}

/** A Host header in canonical form: lower case, without a default port. */
export const hostKey = (host: string) => host.toLowerCase().replace(/:(80|443)?$/, '');

/** Whether a variant is served on the host of a request. */
export const isOnHost = ({ base }: Pick<Mount, 'base'>, host = '') =>
  base.host === undefined || base.host === hostKey(host);

/** Where requests for one host only are routed, with its default ports; any host without one. */
export const hostConstraint = ({ host }: BaseUrl) =>
  host === undefined
    ? {}
    : { host: new RegExp(`^${host.replace(/[.[\]]/g, '\\$&')}(?::(?:80|443)?)?$`, 'i') };
