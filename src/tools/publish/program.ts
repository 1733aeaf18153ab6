// The programs for hosts that run code: a line with what they know of the site, worker.js with router.js, and lines for the
// host.

import type { ErrorCode } from '../../api/http/errors.ts';
import { JSON_TYPE, METHODS } from '../../api/http/headers.ts';
import { readScript } from '../../pages/web-files.ts';
import { type ConfigInput, errorHeaders, hasHosts, listErrors, PREFLIGHT_HEADERS } from './tables.ts';
import { NAME } from './targets.ts';

/** Which file answers which address, as router.js reads it: it writes names and parameters in one way before it looks. */
const routeTable = (input: ConfigInput) =>
  input.targets.map(({ host, pattern, file = '', error }) => [
    pattern.replaceAll(NAME, '([^/?&]+)'),
    error,
    file,
    ...(host !== undefined && hasHosts(input) ? [host] : []),
  ]);

/** Errors that the program finds itself. */
const BY_PROGRAM: readonly ErrorCode[] = [
  'BAD_ESCAPE',
  'USER_TOO_LONG',
  'USER_MALFORMED',
  'METHOD_NOT_ALLOWED',
];

function errorTable(input: ConfigInput) {
  const errors = listErrors(input, BY_PROGRAM).map(({ code, status, body, caching }) => {
    const headers = { 'cache-control': caching, ...(status === 405 && { allow: METHODS }) };
    return [code, { status, body, headers }];
  });
  return {
    errors: Object.fromEntries(errors),
    jsonType: JSON_TYPE,
    common: Object.fromEntries(errorHeaders(input)),
    preflight: Object.fromEntries(PREFLIGHT_HEADERS),
  };
}

/** The Worker is asked first, so that no file has an address of its own. */
const WRANGLER = {
  name: 'vitrine',
  main: 'worker.js',
  compatibility_date: '2025-07-01',
  assets: {
    directory: 'files',
    binding: 'ASSETS',
    run_worker_first: true,
    html_handling: 'none',
    not_found_handling: 'none',
  },
};

export const cloudflare = (input: ConfigInput) => ({
  'wrangler.json': `${JSON.stringify(WRANGLER, null, 2)}\n`,
  'worker.js': `${worker(input)}\nexport default { fetch: answer };\n`,
});

function worker(input: ConfigInput): string {
  const { types, folders } = input.headers;
  const tables = { rows: routeTable(input), ...errorTable(input) };
  const site = { ...tables, headers: Object.fromEntries(folders), types: Object.fromEntries(types) };
  return `const SITE = ${JSON.stringify(site)};\n${readScript('../../tools/publish/worker.js')}`;
}

/** Netlify asks the program before it looks for a file, also when the program asks for one: then the program lets it pass. */
const BEFORE_FILES = `
const OWN = 'x-vitrine-file';
const ASSETS = { fetch: (url) => fetch(url, { headers: { [OWN]: '1' } }) };
export default (request) => (request.headers.has(OWN) ? undefined : answer(request, { ASSETS }));
export const config = { path: '/*' };
`;

export const netlify = (input: ConfigInput) => ({
  'netlify.toml': '[build]\npublish = "files"\nedge_functions = "edge-functions"\n',
  'edge-functions/vitrine.js': worker(input) + BEFORE_FILES,
});
