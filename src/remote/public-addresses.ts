// Resolves host names to public addresses only. The check is done on the addresses that are then connected to, so a name
// that resolves differently the next time gains nothing.
import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { SiteError } from './http-client.ts';

export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const [first] = addresses ?? [];
    if (error !== null || first === undefined)
      callback(error ?? new SiteError('there is no such host', 'passing'), '');
    else if (!addresses.every(({ address }) => isPublic(address)))
      callback(new SiteError('the host has a private address', 'site'), '');
    else if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

/** Neither private nor link-local, loopback, multicast or reserved. */
export const isPublic = (address: string) =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast';
