// Settings that exclude each other: base URLs whose addresses overlap, and two ports that are one.
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { lookupPatterns, VARIANTS, type Variant } from '../variants.ts';
import type { BaseUrl } from './setting-values.ts';

/** A variant that is served, and its base address. */
export interface Mount {
  readonly variant: Variant;
  readonly base: BaseUrl;
}

/** A sentence for each pair of variants that claim one address: one would hide users of the other. */
export function addressClashes(
  mounts: readonly Mount[],
  settingName: (variant: Variant) => string,
): string[] {
  return mounts.flatMap((one, index) =>
    mounts.slice(index + 1).flatMap((two) => {
      const names = `${settingName(one.variant)} and ${settingName(two.variant)}`;
      if (!shareHost(one.base, two.base)) return [];
      if (one.base.path === two.base.path) return [`${names} claim the same address: give each its own`];
      const shared = sharedAddress(one, two);
      return shared === undefined ? [] : [`${names} both claim ${shared}: give each its own base address`];
    }),
  );
}

/** A base address without a host is served on every host. */
const shareHost = (one: BaseUrl, two: BaseUrl) =>
  one.host === undefined || two.host === undefined || one.host === two.host;

function sharedAddress(one: Mount, two: Mount): string | undefined {
  for (const mine of patterns(one))
    for (const theirs of patterns(two)) if (overlap(mine, theirs)) return mine.replace(':username', 'USER');
  return undefined;
}

const patterns = ({ variant, base }: Mount) =>
  lookupPatterns(VARIANTS[variant].style).map((pattern) => base.path + pattern);

function overlap(mine: string, theirs: string): boolean {
  const [one, two] = [mine.split('/'), theirs.split('/')];
  return (
    one.length === two.length &&
    one.every((part, index) => [part, two[index]].includes(':username') || part === two[index])
  );
}

interface Listening {
  readonly host: string;
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number | undefined;
}

export const portClashes = ({ host, port, adminHost, adminPort }: Listening): string[] =>
  adminPort !== undefined && adminPort !== 0 && adminPort === port && shareAddress(adminHost, host)
    ? ['ADMIN_PORT and PORT are the same: give the admin port its own']
    : [];

/** Whether two addresses to listen on exclude each other on one port. A unix socket has no port. */
function shareAddress(one: string, two: string): boolean {
  if ([one, two].some((host) => host.startsWith('/'))) return false;
  const [mine, theirs] = [canonical(one), canonical(two)];
  return mine === theirs || includes(mine, theirs) || includes(theirs, mine);
}

/** Lower case; IPv6 in its shortest form, and as IPv4 where it stands for that. */
const canonical = (host: string) =>
  ipaddr.isValid(host) ? ipaddr.process(host).toString() : host.toLowerCase();

/** Names are not resolved here, so one may stand for any IPv4 address; `localhost` is known. */
function includes(host: string, other: string): boolean {
  if (host === '::') return true;
  if (host === '0.0.0.0') return !isIPv6(other);
  return host === 'localhost' && (other === '127.0.0.1' || other === '::1');
}
