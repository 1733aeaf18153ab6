// Fetches files, such as pictures, that lie on many hosts. Only hosts that the operator named are asked, also after a
// redirect; a named host must have public addresses, unless it is named by its address.
import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { followRedirects, type RemoteHosts } from './host.ts';
import { type BodyReader, SiteError } from './http-client.ts';

export interface FileClientOptions {
  readonly hosts: RemoteHosts;
  /** Sites that may be asked whatever their addresses are. */
  readonly sites: readonly URL[];
  /** Other hosts that may be asked, as HOST or HOST:PORT. */
  readonly named: readonly string[];
  /** The option that names them. */
  readonly option: string;
  /** The limit for a file, also after decompression. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** What a reader made of a file, or why there is none. */
export type FileResult<Body> = { readonly body: Body } | FetchFailure;

interface FetchFailure {
  readonly reason: string;
  /** `notNamed`: its host may not be asked. `gone`: the host has no such file. A `passing` failure may pass. */
  readonly kind: 'notNamed' | 'gone' | 'passing' | 'failed';
}

/** A redirect to a host that may not be asked. */
class HostNotNamed extends SiteError {}

/** Indexes of databases and servers take no longer ones. */
const LONGEST_ADDRESS = 2048;
const HEADERS = { accept: 'image/*, */*;q=0.5', 'accept-encoding': 'identity' };

/** Whether a database can store it. */
export const isAddressTooLong = (address: string) => Buffer.byteLength(address) > LONGEST_ADDRESS;

const isSiteOf = ({ host }: URL, sites: readonly URL[]) => sites.some((site) => site.host === host);

type NamedHosts = Pick<FileClientOptions, 'sites' | 'named' | 'option'>;

function refuse(url: URL | null, { sites, named, option }: NamedHosts): FetchFailure | undefined {
  if (url === null || !/^https?:$/.test(url.protocol))
    return { reason: 'not an http or https address', kind: 'failed' };
  if (isSiteOf(url, sites) || isNamed(url, named)) return undefined;
  return { reason: `${url.host} is not named by ${option}`, kind: 'notNamed' };
}

/** Why an address must not be asked for; undefined if it may. */
export const refusal = (address: string, named: NamedHosts): FetchFailure | undefined =>
  isAddressTooLong(address)
    ? { reason: `the address is longer than ${LONGEST_ADDRESS} bytes`, kind: 'failed' }
    : refuse(URL.parse(address), named);

export function createFileClient(options: FileClientOptions) {
  const { hosts, sites, maxBytes, signal } = options;

  /** The reader sees the body of each response that is a 200, also of one that breaks off and is then repeated. */
  async function fetchFile<Body>(address: string, read: BodyReader<Body>): Promise<FileResult<Body>> {
    const refused = refusal(address, options);
    if (refused !== undefined) return refused;
    const start = new URL(address);
    const ask = (url: URL, path: string) => {
      const failure = refuse(url, options);
      if (failure?.kind === 'notNamed') throw new HostNotNamed(failure.reason, 'answer');
      if (failure !== undefined) throw new SiteError(failure.reason, 'answer');
      const host = hosts.find(url, isSiteOf(url, sites) ? undefined : lookupPublic);
      return host.ask((client) => client.receive({ path, headers: HEADERS }, read, maxBytes));
    };
    try {
      const { status, body } = await followRedirects(start, start.pathname + start.search, ask);
      if (body !== undefined) return { body };
      return { reason: `status ${status}`, kind: status === 404 || status === 410 ? 'gone' : 'failed' };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SiteError)) throw error;
      return { reason: error.message, kind: error instanceof HostNotNamed ? 'notNamed' : 'passing' };
    }
  }

  return { fetch: fetchFile, refusal: (address: string) => refusal(address, options) };
}

const isNamed = ({ host, hostname, port, protocol }: URL, hosts: readonly string[]) =>
  hosts.includes(host) || hosts.includes(`${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`);

/** The check is done on the addresses that are then connected to: a name that resolves differently the next time gains nothing. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
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
