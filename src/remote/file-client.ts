// Fetches files, such as pictures, that lie on many hosts. Only hosts that the operator named are asked, also after a
// redirect; a named host must have public addresses, unless it is named by its address.
import { setMaxListeners } from 'node:events';
import { type BodyReader, createHttpClient, type HttpClient, type HttpResponse } from './http-client.ts';
import {
  createPace,
  isRefusal,
  MAX_FAILURES,
  MAX_REDIRECTS,
  type Pace,
  type RateOptions,
  redirection,
  repeat,
  SiteClosed,
  SiteError,
  sendInTurn,
} from './polite-requests.ts';
import { lookupPublic } from './public-addresses.ts';

export interface FileClientOptions extends RateOptions {
  /** Sites that may be asked whatever their addresses are, some with the pace of other requests to them. */
  readonly sites: readonly { readonly base: URL; readonly pace?: Pace }[];
  /** Other hosts that may be asked, as HOST or HOST:PORT. */
  readonly hosts: readonly string[];
  /** The option that names them. */
  readonly hostsOption: string;
  readonly userAgent: string;
  readonly accept: string;
  /** The limit for a file, also after decompression. */
  readonly maxBytes: number;
  /** Requests at a time to one host. */
  readonly concurrency: number;
  /** Milliseconds to wait for a host that sends nothing. */
  readonly timeout: number;
  readonly retries: number;
  readonly signal: AbortSignal;
}

/** What a reader made of a file, or why there is none. */
export type Fetched<Body> = { readonly body: Body } | FetchFailure;

export interface FetchFailure {
  readonly reason: string;
  /** Whether the request failed, rather than that the host has no such file. */
  readonly mayPass?: boolean;
}

interface Host {
  readonly client: HttpClient;
  readonly pace: Pace;
  failuresInRow: number;
}

export type FileClient = ReturnType<typeof createFileClient>;

export function createFileClient(options: FileClientOptions) {
  // Each waiting request listens to the signal.
  setMaxListeners(0, options.signal);
  const hosts = createHosts(options);
  const headers = {
    accept: options.accept,
    'accept-encoding': 'identity',
    'user-agent': options.userAgent,
  };

  /** The reader sees the body of each response that is a 200, also of one that breaks off and is then repeated. */
  async function fetchFile<Body>(address: string, read: BodyReader<Body>): Promise<Fetched<Body>> {
    let url = URL.parse(address);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const host = hosts.find(url);
      if (typeof host === 'string') return { reason: host };
      // `find` returns a host only for a parsed URL.
      const { host: name, pathname, search, href } = url as URL;
      if (host.failuresInRow >= MAX_FAILURES) return { reason: `${name} was given up` };
      const send = () => host.client.receive({ path: pathname + search, headers }, read);
      const response = await askHost(host, send, options);
      if ('reason' in response) return response;
      const location = redirection(response);
      if (location === undefined) return bodyOf(response);
      url = URL.parse(location, href);
    }
    return { reason: `more than ${MAX_REDIRECTS} redirects` };
  }

  return {
    fetch: fetchFile,
    /** Why an address must not be asked for; undefined if it may. */
    refusal(address: string): string | undefined {
      const host = hosts.find(URL.parse(address));
      return typeof host === 'string' ? host : undefined;
    },
    close: hosts.close,
  };
}

/** The response, or why there is none. After many failures in a row the host is not asked any more. */
async function askHost<Body>(
  host: Host,
  send: () => Promise<HttpResponse<Body>>,
  { retries, signal }: FileClientOptions,
): Promise<HttpResponse<Body> | FetchFailure> {
  const { pace } = host;
  try {
    const response = await repeat(() => sendInTurn(pace, send), { retries, pace, signal });
    host.failuresInRow = isRefusal(response.status) ? host.failuresInRow + 1 : 0;
    return response;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SiteClosed) host.failuresInRow = MAX_FAILURES;
    else if (error instanceof SiteError) host.failuresInRow = error.siteDown ? host.failuresInRow + 1 : 0;
    else throw error;
    return { reason: error.message, mayPass: true };
  }
}

const bodyOf = <Body>({ status, body }: HttpResponse<Body | undefined>): Fetched<Body> =>
  body === undefined ? { reason: `status ${status}` } : { body };

/** Finds the host of an address, or says why it must not be asked. */
function createHosts(options: FileClientOptions) {
  const { sites, hosts, hostsOption, signal, timeout, concurrency: connections, maxBytes } = options;
  const known = new Map<string, Host>();

  function findHost(url: URL | null): Host | string {
    if (url === null || !/^https?:$/.test(url.protocol)) return 'not an http or https address';
    const { origin } = url;
    const found = known.get(origin);
    if (found !== undefined) return found;
    const site = sites.find(({ base }) => base.host === url.host);
    if (site === undefined && !isNamed(url, hosts)) return `${url.host} is not named by ${hostsOption}`;
    const lookup = site === undefined ? { lookup: lookupPublic } : {};
    const client = createHttpClient({ origin: url, timeout, maxBytes, connections, ...lookup });
    const host = { client, pace: site?.pace ?? createPace(options, signal), failuresInRow: 0 };
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
