// Fetches files, such as pictures, that lie on many hosts. Only hosts that the operator named are asked, also after a
// redirect; a named host must have public addresses, unless it is named by its address.
import { createHost, followRedirects, type Host, type HostOptions } from './host.ts';
import { type BodyReader, SiteError } from './http-client.ts';
import type { Pace } from './pace.ts';
import { lookupPublic } from './public-addresses.ts';

export interface FileClientOptions extends HostOptions {
  /** Sites that may be asked whatever their addresses are, some with the pace of other requests to them. */
  readonly sites: readonly { readonly base: URL; readonly pace?: Pace }[];
  /** Other hosts that may be asked, as HOST or HOST:PORT. */
  readonly hosts: readonly string[];
  /** The option that names them. */
  readonly hostsOption: string;
  readonly accept: string;
  /** The limit for a file, also after decompression. */
  readonly maxBytes: number;
}

/** What a reader made of a file, or why there is none. */
export type FileResult<Body> = { readonly body: Body } | FetchFailure;

interface FetchFailure {
  readonly reason: string;
  /** Whether the request failed, rather than that the host has no such file. */
  readonly mayPass?: boolean;
}

export type FileClient = ReturnType<typeof createFileClient>;

export function createFileClient(options: FileClientOptions) {
  const hosts = createHosts(options);
  const headers = {
    accept: options.accept,
    'accept-encoding': 'identity',
    'user-agent': options.userAgent,
  };

  /** The reader sees the body of each response that is a 200, also of one that breaks off and is then repeated. */
  async function fetchFile<Body>(address: string, read: BodyReader<Body>): Promise<FileResult<Body>> {
    const start = URL.parse(address);
    const refused = hosts.refusal(start);
    if (start === null || refused !== undefined) return { reason: refused ?? address };
    const ask = (url: URL, path: string) => {
      const reason = hosts.refusal(url);
      if (reason !== undefined) throw new SiteError(reason, 'answer');
      return hosts.find(url).ask((client) => client.receive({ path, headers }, read));
    };
    try {
      const { status, body } = await followRedirects(start, start.pathname + start.search, ask);
      return body === undefined ? { reason: `status ${status}` } : { body };
    } catch (error) {
      options.signal.throwIfAborted();
      if (!(error instanceof SiteError)) throw error;
      return { reason: error.message, mayPass: true };
    }
  }

  return {
    fetch: fetchFile,
    /** Why an address must not be asked for; undefined if it may. */
    refusal: (address: string) => hosts.refusal(URL.parse(address)),
    [Symbol.dispose]: hosts[Symbol.dispose],
  };
}

function createHosts(options: FileClientOptions) {
  const { sites, hosts, hostsOption } = options;
  const known = new Map<string, Host>();
  const siteAt = ({ host }: URL) => sites.find(({ base }) => base.host === host);

  return {
    refusal(url: URL | null): string | undefined {
      if (url === null || !/^https?:$/.test(url.protocol)) return 'not an http or https address';
      if (siteAt(url) !== undefined || isNamed(url, hosts)) return undefined;
      return `${url.host} is not named by ${hostsOption}`;
    },
    find(url: URL): Host {
      const found = known.get(url.origin);
      if (found !== undefined) return found;
      const site = siteAt(url);
      const lookup = site === undefined ? lookupPublic : undefined;
      const host = createHost({ ...options, origin: url, lookup }, site?.pace);
      known.set(url.origin, host);
      return host;
    },
    [Symbol.dispose](): void {
      for (const host of known.values()) host[Symbol.dispose]();
    },
  };
}

const isNamed = ({ host, hostname, port, protocol }: URL, hosts: readonly string[]) =>
  hosts.includes(host) || hosts.includes(`${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`);
