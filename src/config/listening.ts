// Whether two addresses to listen on exclude each other on one port.
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A unix socket has no port. */
export function shareAddress(one: string, two: string): boolean {
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
