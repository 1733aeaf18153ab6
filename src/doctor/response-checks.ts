// Whether a response comes back as Vitrine sent it: its type, its errors, and who may read it.
import type { HttpResponse } from '../remote/http-client.ts';
import { broken, type Check, type Finding, NEEDS_USER, ok, quoted, suggestion, unclear } from './check.ts';
import { type Deployment, isProfile, objectIn, readCode } from './deployment.ts';

const type: Check = {
  name: 'content type',
  async run({ send, lookups, user, nobody }) {
    const response = await send(lookups(user ?? nobody).profile);
    const [type = '', ...more] = response.all('content-type');
    if (type === '') return broken('is missing');
    if (more.length > 0) return broken(`comes ${more.length + 1} times`);
    if (!/^application\/json\s*(;|$)/i.test(type)) return broken(`is ${quoted(type)}, not application/json`);
    if (!/charset="?utf-8/i.test(type)) return broken(`${quoted(type)} lacks charset=utf-8`);
    if (objectIn(response) === undefined)
      return broken(`is JSON, but the body is not: ${quoted(String(response.body))}`);
    return ok(type);
  },
};

const errors: Check = {
  name: 'error bodies',
  async run({ send, lookups, nobody, withoutUser }) {
    const cases = [
      { response: await send(lookups(nobody).profile), status: 404, what: 'an unknown user' },
      { response: await send(withoutUser), status: 400, what: 'a request without a user' },
    ];
    for (const { response, status, what } of cases) {
      if (response.status !== status && (readCode(response) !== undefined || isProfile(response)))
        return unclear('the request does not arrive as it was sent: see encoded names and query');
      if (response.status !== status) return broken(`${what} gets ${response.status} instead of ${status}`);
      if (readCode(response) === undefined)
        return broken(
          `${what} (${status}) gets a page of the proxy instead of JSON: ${quoted(String(response.body).trim())}`,
        );
    }
    return ok('404 and 400 have the JSON body of Vitrine');
  },
};

const ALLOW_ORIGIN = 'access-control-allow-origin';

const cors: Check = {
  name: 'CORS',
  async run(deployment) {
    const responses = await responsesByStatus(deployment);
    for (const [status, response] of responses) {
      const allowed = response.all(ALLOW_ORIGIN);
      if (allowed.length === 0)
        return broken(`${ALLOW_ORIGIN} is missing from ${status}: pages of other origins cannot read it`);
      if (allowed.length > 1 || allowed[0]?.includes(','))
        return broken(
          `${ALLOW_ORIGIN} comes twice with ${status}, ${quoted(allowed.join(', '))}: browsers refuse that`,
        );
    }
    const exposed = responses[0]?.[1].all('access-control-expose-headers').join() ?? '';
    if (!/\betag\b|\*/i.test(exposed))
      return broken('pages cannot read the ETag: access-control-expose-headers does not name it');
    return await checkPreflight(deployment);
  },
};

async function checkPreflight({ send, lookups, user, nobody }: Deployment): Promise<Finding> {
  const headers = {
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'if-none-match',
  };
  const { status, all } = await send(lookups(user ?? nobody).profile, headers, 'OPTIONS');
  if (status >= 300) return broken(`a preflight (OPTIONS) gets ${status}`);
  if (all(ALLOW_ORIGIN).length !== 1) return broken(`a preflight (OPTIONS) lacks ${ALLOW_ORIGIN}`);
  return ok('pages of any origin can read successes, 304 and errors');
}

/** A response of each status that a page can meet; the success first, where a user is known. */
async function responsesByStatus(deployment: Deployment): Promise<[status: string, HttpResponse][]> {
  const { send, lookups, user, nobody, withoutUser } = deployment;
  const responses: [string, HttpResponse][] = [];
  if (user !== undefined) {
    const success = await send(lookups(user).profile);
    responses.push(['200', success]);
    const { etag } = success.headers;
    const again =
      etag === undefined ? undefined : await send(lookups(user).profile, { 'if-none-match': etag });
    if (again?.status === 304) responses.push(['304', again]);
  }
  responses.push(['404', await send(lookups(nobody).profile)], ['400', await send(withoutUser)]);
  return responses;
}

/** Bytes from which gzip saves anything worth a header, and from which Vitrine compresses. */
const WORTH_COMPRESSING = 1024;

const compression: Check = {
  name: 'compression',
  async run({ send, lookups, user }) {
    if (user === undefined) return NEEDS_USER;
    const items = await send(lookups(user).items);
    const isLong = items.body.length >= WORTH_COMPRESSING;
    const path = isLong ? lookups(user).items : lookups(user).profile;
    const packed = await send(path, { 'accept-encoding': 'gzip' });
    const encoding = packed.headers['content-encoding'];
    if (encoding === undefined)
      return packed.body.length < WORTH_COMPRESSING
        ? ok(`the data of ${quoted(user)} is too short to be worth compressing`)
        : broken(`${packed.body.length} bytes are sent uncompressed; gzip would save most of them`);
    if (items.headers['content-encoding'] !== undefined)
      return broken('responses are compressed for clients that do not accept it, too');
    if (!/accept-encoding|\*/i.test(packed.all('vary').join()))
      return broken(
        'Vary: Accept-Encoding is missing: a cache would send compressed responses to clients that do not accept them',
      );
    if (isLong && packed.headers.etag?.startsWith('W/'))
      return suggestion('the proxy compresses each answer again, although Vitrine has it compressed');
    const script = await send('/embed.js', { 'accept-encoding': 'gzip' });
    if (script.status === 200 && script.headers['content-encoding'] === undefined)
      return broken('lists are compressed, but scripts and styles are not');
    return ok(`${encoding}, for clients that accept it`);
  },
};

export const RESPONSE_CHECKS: readonly Check[] = [type, errors, cors, compression];
