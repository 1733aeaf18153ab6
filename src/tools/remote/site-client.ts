// GETs to one site with this API, conditional or not, and never sent to another host.
import { isCutOff, isMarkup, NOT_JSON, parseBody } from '../../import/formats/json-text.ts';
import type { RawRecord } from '../../records/normalise.ts';
import { brief } from '../../records/printable.ts';
import { type LookupAddresses, lookupAddresses, VARIANTS, type Variant } from '../../variants.ts';
import { basePath } from './base-url.ts';
import { followRedirects, type RemoteHosts } from './host.ts';
import { type HttpResponse, SiteError } from './http-client.ts';

/** A site lists 15. One that lists far more does not speak this API. */
export const MAX_ITEMS = 1000;

export type Lookup = keyof LookupAddresses;

/** What a later request needs to ask for changes only. */
export interface Validators {
  readonly etag?: string | undefined;
  readonly modified?: string | undefined;
}

export type SiteResponse =
  | {
      readonly state: 'body';
      readonly body: Buffer;
      /** The object in the body, or what is wrong with it. */
      readonly value: RawRecord | string;
      readonly validators: Validators;
    }
  | { readonly state: 'unchanged'; readonly validators: Validators }
  /** The site does not know the user, or has taken the user down (status 410). */
  | { readonly state: 'unknown'; readonly isGone: boolean };

const MAX_VALIDATOR = 1024;

export type SiteClient = ReturnType<typeof createSiteClient>;

export function createSiteClient(hosts: RemoteHosts, base: URL, variant: Variant) {
  const host = hosts.find(base);
  const buildPath = (name: string, lookup: Lookup) =>
    lookupAddresses(VARIANTS[variant].style, basePath(base), name)[lookup];
  const buildUrl = (name: string, lookup: Lookup) => base.origin + buildPath(name, lookup);

  return {
    base,
    buildUrl,
    /** What the site says of a user; errors name the address. */
    async get(name: string, lookup: Lookup, validators: Validators = {}): Promise<SiteResponse> {
      const conditions = createConditions(validators);
      const headers = { ...HEADERS, ...conditions };
      let value: RawRecord | string = '';
      const check = (response: HttpResponse) => {
        value = readAnswer(response);
      };
      const ask = ({ origin, href }: URL, path: string) => {
        if (origin === base.origin) return host.ask((client) => client.send({ path, headers }), check);
        const reason = 'redirects to another site, which is not followed';
        throw new SiteError(`${reason}: ${brief(href)}`, 'answer');
      };
      try {
        const response = await followRedirects(base, buildPath(name, lookup), ask);
        return readResponse(response, value, conditions && validators);
      } catch (error) {
        if (!(error instanceof SiteError) || error.kind === 'closed') throw error;
        throw new SiteError(`${buildUrl(name, lookup)}: ${error.message}`, error.kind);
      }
    },
  };
}

const HEADERS = { accept: 'application/json, */*;q=0.1', 'accept-encoding': 'gzip' };

function createConditions({ etag, modified }: Validators): Record<string, string> | undefined {
  if (etag !== undefined) return { 'if-none-match': etag };
  return modified === undefined ? undefined : { 'if-modified-since': modified };
}

/**
 * The object of a 200, or what is wrong with it; throws if the response is not from this API, or was cut off. Content types are not
 * to be relied on: PHP labels everything as HTML, and answers many an error with a web page and status 200.
 */
function readAnswer({ status, headers, body }: HttpResponse): RawRecord | string {
  // So do parked domains and wrong base addresses; the user may well exist.
  if ((status === 404 || status === 410) && isMarkup(body))
    throw new SiteError(`status ${status} with ${NOT_JSON}`, 'site');
  if (status !== 200) return '';
  const encoding = headers['content-encoding']?.trim() ?? '';
  if (!/^((x-)?gzip|identity)?$/i.test(encoding))
    throw new SiteError(`content encoding ${brief(encoding)} was not asked for`, 'answer');
  const value = parseBody(body);
  if (typeof value === 'string' && isCutOff(body)) throw new SiteError(value, 'passing');
  return value;
}

function readResponse(
  { status, headers, body }: HttpResponse,
  value: RawRecord | string,
  /** What the request asked with. */
  known: Validators | undefined,
): SiteResponse {
  if (status === 304 && known !== undefined) return { state: 'unchanged', validators: known };
  if (status === 404 || status === 410) return { state: 'unknown', isGone: status === 410 };
  if (status !== 200) throw new SiteError(`status ${status}`, 'answer');
  const { etag, 'last-modified': modified } = headers;
  return { state: 'body', body, value, validators: { etag: validator(etag), modified: validator(modified) } };
}

const validator = (text: string | undefined) =>
  text !== undefined && text !== '' && text.length <= MAX_VALIDATOR ? text : undefined;
