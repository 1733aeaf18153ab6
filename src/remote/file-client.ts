// Fetches files, such as pictures, that lie on many hosts. Only hosts that the operator named are asked, also after a
// redirect; a named host must have public addresses, unless it is named by its address.
import { setMaxListeners } from 'node:events';
import {
  type BodyReader,
  createHttpClient,
  type HttpClient,
  type HttpResponse,
  RequestError,
} from './http-client.ts';
import {
  MAX_REDIRECTS,
  type Retry,
  redirection,
  repeat,
  retryFor,
  SiteClosed,
  SiteError,
  sendInTurn,
} from './polite-requests.ts';
import { lookupPublic } from './public-addresses.ts';
import { createPace, type Pace } from './request-pace.ts';

export interface FileClientOptions {
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
  readonly rate: number;
  /** Milliseconds for one request. */
  readonly timeout: number;
  readonly retries: number;
  readonly signal: AbortSignal;
}

/** What a reader made of a file, or why there is none. */
export type Fetched<Body> = { readonly body: Body } | { readonly reason: string };

interface Host {
  readonly client: HttpClient;
  readonly pace: Pace;
  failuresInRow: number;
}

/** After so many failures in a row a host is not asked any more. */
const MAX_FAILURES = 20;

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
      // There is no host without an address.
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

async function askHost<Body>(
  host: Host,
  send: () => Promise<HttpResponse<Body>>,
  { retries, signal }: FileClientOptions,
): Promise<HttpResponse<Body> | { reason: string }> {
  const { pace } = host;
  try {
    const response = await repeat(() => tryOnce(pace, send, signal), { retries, pace, signal });
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

async function tryOnce<Body>(
  pace: Pace,
  send: () => Promise<HttpResponse<Body>>,
  signal: AbortSignal,
): Promise<HttpResponse<Body> | Retry> {
  try {
    const response = await sendInTurn(pace, send);
    return retryFor(response) ?? response;
  } catch (error) {
    if (!(error instanceof RequestError && error.retryable)) throw error;
    signal.throwIfAborted();
    return { reason: error.message, wait: 0 };
  }
}

const bodyOf = <Body>({ status, body }: HttpResponse<Body | undefined>): Fetched<Body> =>
  body === undefined ? { reason: `status ${status}` } : { body };

/** Finds the host of an address, or says why it must not be asked. */
function createHosts({ sites, hosts, hostsOption, rate, signal, ...options }: FileClientOptions) {
  const { timeout, concurrency: connections, maxBytes } = options;
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
