// Pictures of both sites, compared by the SHA-256 of their bytes. Only the hosts of both sites and those that the operator
// named are asked; a named host must have public addresses, unless it is named by its address.
import {
  createHttpClient,
  type Digest,
  type HttpClient,
  type HttpResponse,
  RequestError,
} from '../remote/http-client.ts';
import {
  MAX_REDIRECTS,
  type Retry,
  redirection,
  repeat,
  retryFor,
  SiteClosed,
  SiteError,
  sendInTurn,
} from '../remote/polite-requests.ts';
import { lookupPublic } from '../remote/public-addresses.ts';
import { createPace, type Pace } from '../remote/request-pace.ts';

export interface PictureOptions {
  readonly sites: readonly { readonly base: URL; readonly pace: Pace }[];
  /** Other hosts that may be asked, as HOST or HOST:PORT. */
  readonly hosts: readonly string[];
  readonly concurrency: number;
  readonly rate: number;
  readonly timeout: number;
  readonly retries: number;
  readonly signal: AbortSignal;
  readonly maxBytes?: number;
}

/** The hash of a picture, or why there is none. */
type Hashed = { readonly sha256: string } | { readonly reason: string };

export type PictureMatch = 'same bytes' | 'other bytes' | { readonly reason: string };

interface Host {
  readonly client: HttpClient;
  readonly pace: Pace;
  failuresInRow: number;
}

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_ADDRESS = 2048;
/** Many users share a picture, such as the one for those who have none. */
const REMEMBERED = 1000;
const MAX_FAILURES = 20;
const HEADERS = {
  accept: 'image/*, */*;q=0.5',
  'accept-encoding': 'identity',
  'user-agent': 'vitrine-compare',
};

export type PictureClient = ReturnType<typeof createPictureClient>;

export function createPictureClient(options: PictureOptions) {
  const hosts = createHosts(options);
  const remembered = new Map<string, Promise<Hashed>>();

  async function fetchPicture(address: string): Promise<Hashed> {
    let url = URL.parse(address);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const host = hosts.find(url);
      if (typeof host === 'string') return { reason: host };
      // There is no host without an address.
      const { host: name, pathname, search, href } = url as URL;
      if (host.failuresInRow >= MAX_FAILURES) return { reason: `${name} was given up` };
      const response = await askHost(host, pathname + search, options);
      if ('reason' in response) return response;
      const location = redirection(response);
      if (location === undefined) return hashOf(response);
      url = URL.parse(location, href);
    }
    return { reason: `more than ${MAX_REDIRECTS} redirects` };
  }

  function picture(address: string): Promise<Hashed> {
    if (address.length > MAX_ADDRESS)
      return Promise.resolve({ reason: `the address is longer than ${MAX_ADDRESS} characters` });
    const found = remembered.get(address) ?? fetchPicture(address);
    remembered.set(address, found);
    const [oldest] = remembered.keys();
    if (remembered.size > REMEMBERED) remembered.delete(oldest as string);
    return found;
  }

  return {
    async match(oldAddress: string, newAddress: string): Promise<PictureMatch> {
      for (const address of [oldAddress, newAddress]) {
        const host = hosts.find(URL.parse(address));
        if (typeof host === 'string') return { reason: host };
      }
      const [one, other] = await Promise.all([picture(oldAddress), picture(newAddress)]);
      if ('reason' in one) return { reason: `old: ${one.reason}` };
      if ('reason' in other) return { reason: `new: ${other.reason}` };
      return one.sha256 === other.sha256 ? 'same bytes' : 'other bytes';
    },
    close: hosts.close,
  };
}

async function askHost(
  host: Host,
  path: string,
  { retries, signal }: PictureOptions,
): Promise<HttpResponse<Digest> | { reason: string }> {
  const { pace } = host;
  try {
    const response = await repeat(() => tryOnce(host, path, signal), { retries, pace, signal });
    host.failuresInRow = 0;
    return response;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SiteClosed) host.failuresInRow = MAX_FAILURES;
    else if (error instanceof SiteError) host.failuresInRow++;
    else if (!(error instanceof RequestError)) throw error;
    return { reason: (error as Error).message };
  }
}

async function tryOnce(
  { client, pace }: Host,
  path: string,
  signal: AbortSignal,
): Promise<HttpResponse<Digest> | Retry> {
  try {
    const response = await sendInTurn(pace, () => client.digest({ path, headers: HEADERS }));
    return retryFor(response) ?? response;
  } catch (error) {
    if (!(error instanceof RequestError && error.retryable)) throw error;
    signal.throwIfAborted();
    return { reason: error.message, wait: 0 };
  }
}

function hashOf({ status, body }: HttpResponse<Digest>): Hashed {
  if (status !== 200) return { reason: `status ${status}` };
  return body.length === 0 ? { reason: 'empty' } : { sha256: body.sha256 };
}

/** Finds the host of an address, or says why it must not be asked. */
function createHosts({ sites, hosts, rate, signal, ...options }: PictureOptions) {
  const { timeout, concurrency: connections, maxBytes = MAX_BYTES } = options;
  const known = new Map<string, Host>();

  function findHost(url: URL | null): Host | string {
    if (url === null || !/^https?:$/.test(url.protocol)) return 'not an http or https address';
    const { origin } = url;
    const found = known.get(origin);
    if (found !== undefined) return found;
    const site = sites.find(({ base }) => base.host === url.host);
    if (site === undefined && !isNamed(url, hosts)) return `${url.host} is not named by --picture-hosts`;
    const lookup = site === undefined ? { lookup: lookupPublic } : {};
    const client = createHttpClient({ origin: url, timeout, maxBytes, connections, ...lookup });
    const host = { client, pace: site?.pace ?? createPace(rate, signal), failuresInRow: 0 };
    known.set(origin, host);
    return host;
  }

  const end = () => {
    for (const { client } of known.values()) client.close();
  };
  signal.addEventListener('abort', end, { once: true });
  const close = () => {
    signal.removeEventListener('abort', end);
    end();
  };
  return { find: findHost, close };
}

const isNamed = ({ host, hostname, port, protocol }: URL, hosts: readonly string[]) =>
  hosts.includes(host) || hosts.includes(`${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`);
