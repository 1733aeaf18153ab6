// Whether the copied pictures that responses name can be had at the public address, with the headers of Vitrine.
import { MEDIA_NAME, mediaType } from '../records/media-types.ts';
import type { HttpResponse } from '../remote/http-client.ts';
import { broken, type Check, type Finding, NEEDS_USER, ok, quoted, unclear } from './check.ts';
import { type Deployment, isPrivate, objectIn } from './deployment.ts';

const COPY = new RegExp(MEDIA_NAME);

const pictures: Check = {
  name: 'pictures',
  async run(deployment) {
    const { send, lookups, user, origin } = deployment;
    if (user === undefined) return NEEDS_USER;
    const url = copyIn(await send(lookups(user).profile)) ?? copyIn(await send(lookups(user).items));
    if (url === undefined) return ok(`the data of ${quoted(user)} names no copied pictures`);
    if (url.origin !== origin.origin) return judgeOrigin(url, origin);
    return judge(await send(url.pathname, { accept: 'image/*' }, 'HEAD'), url);
  },
};

/** The first URL in a body that ends as those of copies do. */
function copyIn(response: HttpResponse): URL | undefined {
  const records = Object.values(objectIn(response) ?? {}).flat();
  const values = records.flatMap((value) =>
    typeof value === 'object' && value !== null ? Object.values(value) : [value],
  );
  return values
    .flatMap((value) => (typeof value === 'string' && URL.parse(value)) || [])
    .find((url) => COPY.test(fileName(url)));
}

const fileName = ({ pathname }: URL) => pathname.slice(pathname.lastIndexOf('/') + 1);

/** Only the address under examination is asked. */
function judgeOrigin(url: URL, { protocol, hostname }: Deployment['origin']): Finding {
  if (isPrivate(url.hostname) && !isPrivate(hostname))
    return broken(`copies are named under ${quoted(url.origin)}, which visitors cannot reach`);
  if (url.protocol === 'http:' && protocol === 'https:')
    return broken(`copies are named under ${quoted(url.origin)}: pages of https may not load them`);
  return unclear(`copies are at ${quoted(url.origin)}, which was not asked`);
}

function judge({ status, headers, all }: HttpResponse, url: URL): Finding {
  if (status !== 200) return broken(`a copy gets ${status}: ${quoted(url.href)}`);
  const type = mediaType(fileName(url));
  if (headers['content-type'] !== type)
    return broken(`a copy is ${quoted(headers['content-type'])}, not ${type}`);
  const caching = all('cache-control').join(', ');
  if (!/\bimmutable\b/i.test(caching) || /no-store|no-cache|private/i.test(caching))
    return broken(`Cache-Control of a copy is ${quoted(caching)}: browsers fetch it again and again`);
  if (!/\bnosniff\b/i.test(all('x-content-type-options').join()))
    return broken('X-Content-Type-Options: nosniff is missing: browsers may take a copy for a page');
  if (!/\bsandbox\b/i.test(all('content-security-policy').join()))
    return broken('Content-Security-Policy with sandbox is missing: scripts in an SVG run');
  return ok('copies arrive as they were sent');
}

export const PICTURE_CHECKS: readonly Check[] = [pictures];
