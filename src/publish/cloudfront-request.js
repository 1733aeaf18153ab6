// The function of a published site at CloudFront for viewer requests, behind router.js.
import { route } from './router.js';

/* global SITE */

export function handler(event) {
  const request = event.request;
  if (request.method === 'OPTIONS') return reply(204, SITE.preflight);
  const found = route(request.headers.host.value, `${request.uri}?${request.rawQueryString() || ''}`);
  const isUnknown = found.file === undefined && found.error === 'ROUTE_NOT_FOUND';
  if (request.method !== 'GET' && request.method !== 'HEAD' && !isUnknown) return fail('METHOD_NOT_ALLOWED');
  if (found.file === undefined) return fail(found.error);
  request.uri = `/${found.file.split('/').map(encodeURIComponent).join('/')}`;
  request.querystring = {};
  return request;
}

function fail(code) {
  const error = SITE.errors[code];
  const headers = Object.assign({ 'content-type': SITE.jsonType }, error.headers);
  return reply(error.status, headers, JSON.stringify(error.body));
}

function reply(statusCode, own, body) {
  const headers = Object.assign({}, SITE.common, own);
  const listed = {};
  Object.keys(headers).forEach((name) => {
    listed[name.toLowerCase()] = { value: headers[name] };
  });
  return Object.assign({ statusCode, headers: listed }, body && { body });
}
