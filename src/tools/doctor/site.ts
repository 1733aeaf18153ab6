// The site under examination: at which path which variant answers, for which user.

import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { PUBLISHED } from '../../config/addresses.ts';
import { brief } from '../../records/printable.ts';
import { isObject } from '../../records/scalar.ts';
import {
  isInQuery,
  lookupAddresses,
  type RouteStyle,
  STYLE_NAMES,
  STYLES,
  VARIANT_NAMES,
  VARIANTS,
  type Variant,
} from '../../variants.ts';
import { basePath } from '../remote/base-url.ts';
import { isPublic } from '../remote/file-client.ts';
import { retryAfter } from '../remote/host.ts';
import { type HttpClient, type HttpRequest, type HttpResponse, SiteError } from '../remote/http-client.ts';

/** Sends a request as a page of another origin would. */
export type Send = (
  path: string,
  headers?: Readonly<Record<string, string>>,
  method?: HttpRequest['method'],
) => Promise<HttpResponse>;

export type ExaminedSite = Awaited<ReturnType<typeof examineSite>>;

const ORIGIN = 'https://vitrine-doctor.example';
/** A user of the sample data. */
const SAMPLE_USER = 'ada';
const MAX_WAIT = 10_000;
const MAX_WAITS = 3;

/** The site limits the rate of requests, and the doctor has reached the limit. */
function rateLimited(wait: number): SiteError {
  const when = `try again in ${Math.ceil(wait / 1000)} s, or exempt this address with RATE_LIMIT_EXEMPT`;
  return new SiteError(`too many requests (429), ${when}`, 'closed');
}

export function createSend(client: HttpClient): Send {
  return async (path, headers = {}, method = 'GET') => {
    const all = { origin: ORIGIN, accept: 'application/json', 'accept-encoding': 'identity', ...headers };
    for (let waits = 0; ; waits++) {
      const response = await client.send({ path, method, headers: all });
      if (response.status !== 429) return response;
      const wait = Math.max(retryAfter(response.headers['retry-after'], Date.now()), 1000);
      if (wait > MAX_WAIT || waits === MAX_WAITS) throw rateLimited(wait);
      await delay(wait);
    }
  };
}

interface Probe {
  readonly path: string;
  readonly style: RouteStyle;
  readonly response: HttpResponse;
}

export async function examineSite(
  send: Send,
  base: URL,
  variant: Variant | undefined,
  user: string = SAMPLE_USER,
) {
  const given = basePath(base);
  const { probes, failure } = await probe(send, given, variant, user);
  const match = bestMatch(probes, variant);
  const path = match?.path ?? given;
  const known = isProfile(match?.response) ? user : undefined;
  const told = variant ?? (await tellVariant(send, path, match?.style ?? 'path', known));
  const { style } = VARIANTS[told];
  const lookups = (name: string) => lookupAddresses(style, path, name);
  const unusedName = `nobody-${Math.random().toString(36).slice(2, 10)}`;
  return {
    /** Whether Vitrine answers there. */
    found: match !== undefined,
    /** The response at the address as it was given, or why there is none: only a failure leaves it out. */
    first: probes[0]?.response ?? (failure as SiteError),
    base,
    /** The path that was given, and the one where the variant answers. */
    given,
    path,
    style,
    variant: told,
    /** The host for which `vitrine publish` made the files that are served there; undefined if they are not. */
    published: await findPublished(send),
    /** An existing user, if one is known. */
    user: known,
    /** A name that no user has. */
    unusedName,
    send,
    lookups,
    /** The lookups of the user; of the unknown name if no user is known. */
    ...lookups(known ?? unusedName),
    /** A lookup of the unknown name, and one that names no user. */
    absent: lookups(unusedName).profile,
    withoutUser: lookups('').profile,
  };
}

async function findPublished(send: Send): Promise<string | undefined> {
  try {
    const { published } = objectIn(await send(PUBLISHED)) ?? {};
    return typeof published === 'string' ? published : undefined;
  } catch (error) {
    if (error instanceof SiteError) return undefined;
    throw error;
  }
}

/** Asks for the user in each style at each path until a profile comes, or until a request fails. */
async function probe(send: Send, given: string, variant: Variant | undefined, user: string) {
  const probes: Probe[] = [];
  for (const path of pathsToProbe(given, variant))
    for (const style of listStyles(variant)) {
      try {
        const response = await send(lookupAddresses(style, path, user).profile);
        probes.push({ path, style, response });
        if (isProfile(response)) return { probes, failure: undefined };
      } catch (error) {
        if (!(error instanceof SiteError)) throw error;
        return { probes, failure: error };
      }
    }
  return { probes, failure: undefined };
}

/** The given path, the same path twice for a proxy that removes a prefix, and the usual base addresses. */
function pathsToProbe(given: string, variant: Variant | undefined): Set<string> {
  const usual = VARIANT_NAMES.filter((name) => variant === undefined || variant === name);
  return new Set([given, given + given, ...usual.map((name) => `${given}/${name}`)]);
}

const listStyles = (variant: Variant | undefined): readonly RouteStyle[] =>
  variant === undefined ? STYLE_NAMES : [VARIANTS[variant].style];

/** The probe that shows where the variant is: a profile proves it, an error of Vitrine's suggests it. */
function bestMatch(probes: readonly Probe[], variant: Variant | undefined): Probe | undefined {
  const answered = (code: string) => probes.filter(({ response }) => readCode(response) === code);
  const nameless = answered('USER_MISSING');
  return (
    probes.find(({ response }) => isProfile(response)) ??
    answered('USER_NOT_FOUND')[0] ??
    // A proxy that drops the query makes every request one without a user, also those of the other style.
    nameless.find(({ style }) => isInQuery(style)) ??
    nameless[0] ??
    // A proxy may replace the body of a 404.
    probes.find(
      ({ response }) => variant !== undefined && response.status === 404 && readCode(response) === undefined,
    )
  );
}

/** Variants with the same addresses of profiles differ by their lists: by the address, or by the name of the list. */
async function tellVariant(
  send: Send,
  path: string,
  style: RouteStyle,
  user: string | undefined,
): Promise<Variant> {
  const { profile } = STYLES[style];
  const candidates = VARIANT_NAMES.filter((name) => STYLES[VARIANTS[name].style].profile === profile);
  // Each style has a variant.
  const [first, ...others] = candidates as [Variant, ...Variant[]];
  if (others.length === 0 || user === undefined) return first;
  const lists = new Map<string, object>();
  for (const name of candidates) {
    const { items } = lookupAddresses(VARIANTS[name].style, path, user);
    const list = lists.get(items) ?? objectIn(await send(items)) ?? {};
    if (VARIANTS[name].collection in list) return name;
    lists.set(items, list);
  }
  return first;
}

/** The JSON object in a body; undefined if it is anything else. */
export function objectIn(response: HttpResponse | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(String(response?.body));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The code of an error of Vitrine's. */
export function readCode(response: HttpResponse): string | undefined {
  const code = response.status < 400 ? undefined : objectIn(response)?.code;
  return typeof code === 'string' ? code : undefined;
}

export const isProfile = (response: HttpResponse | undefined) =>
  response?.status === 200 && typeof objectIn(response)?.username === 'string';

/** Whether a host is reached from its own machine or network only. */
export function isPrivate(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  return hostname === 'localhost' || (isIP(address) > 0 && !isPublic(address));
}

// What a check is, and what it can find.

export interface Check {
  readonly name: string;
  /** Whether it can be made with an existing user only. */
  readonly needsUser?: boolean;
  /** Whether it concerns the buffers, the cache or the connections of a proxy, which published files do without. */
  readonly ofProxy?: boolean;
  readonly run: (site: ExaminedSite) => Promise<Finding>;
  /** What to do about it. */
  readonly advice: string;
}

export interface Finding {
  readonly state: 'ok' | 'broken' | 'could not tell';
  /** What was seen, as a sentence. */
  readonly text: string;
  /** In place of the advice of the check. */
  readonly advice?: string | undefined;
  /** Whether the remedy is shown although nothing is known to be broken. */
  readonly suggest?: boolean;
  /** The check was not made at all: the exit code is 1. Other results that are unclear do not count. */
  readonly unchecked?: boolean;
}

export const ok = (text: string): Finding => ({ state: 'ok', text });
export const broken = (text: string, advice?: string): Finding => ({ state: 'broken', text, advice });
export const unclear = (text: string): Finding => ({ state: 'could not tell', text });
export const unchecked = (text: string): Finding => ({ ...unclear(text), unchecked: true });
/** Nothing is known to be broken, but the remedy may be of use. */
export const suggestion = (text: string): Finding => ({ ...unclear(text), suggest: true });

export const NEEDS_USER = unchecked('needs an existing user: specify one with --user NAME');

/** Text of the other server, safe to print. */
export const quoted = (text: string | undefined) => `"${brief(text ?? '')}"`;
