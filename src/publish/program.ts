// The programs for hosts that run code: a line with what they know of the site, worker.js with router.js, and lines for the
// host.

import { FAILURES } from '../http/errors.ts';
import { JSON_TYPE, METHODS } from '../http/headers.ts';
import { MEDIA_TYPES } from '../records/media-types.ts';
import { readScript } from '../views/web-files.ts';
import { type ConfigInput, errorHeaders, hasHosts, listErrors, PREFLIGHT } from './tables.ts';
import { ANY_QUERY, listHosts, NAME, siteFolder, type Target } from './targets.ts';

/** One for all types. */
const MEDIA_ROW = [
  `/media/([0-9a-f]{2})([0-9a-f-]+)\\.(${Object.keys(MEDIA_TYPES).join('|')})`,
  'ROUTE_NOT_FOUND',
  'media/$1/$1$2.$3',
];

/**
 * Which file answers which address, as router.js reads it. It decodes names itself, so there are no rows about spellings
 * that no file has.
 */
function routeTable(input: ConfigInput) {
  const all = listHosts(input.config);
  const hosts = hasHosts(input) ? all.filter((host) => host !== undefined) : [];
  const isWhole = ({ file }: { file?: string }) => file !== undefined && !file.includes('$');
  const rows = input.targets.filter(
    ({ file, error }) => !file?.startsWith('media/') && (file !== undefined || error !== 'USER_NOT_FOUND'),
  );
  return {
    hosts,
    folder: hosts.length < all.length ? siteFolder(hasHosts(input) ? undefined : all[0]) : '',
    extensions: Object.fromEntries(rows.filter(isWhole).map(siteExtension)),
    rows: [
      MEDIA_ROW,
      ...rows
        .filter((row) => !isWhole(row))
        .map(({ host, pattern, file = '', error }) => {
          const short = withoutQuery(pattern.replaceAll(NAME, '([^/?&]+)'));
          return [
            short,
            error,
            file,
            ...(host === undefined || hosts.length === 0 ? [] : [hosts.indexOf(host)]),
          ];
        }),
    ],
  };
}

/** The address of a file that is there once for each host, and how the name of the file ends. */
function siteExtension({ host, pattern, file = '' }: Target): [address: string, extension: string] {
  const address = withoutQuery(pattern).replace(/\\(.)/g, '$1');
  const name = siteFolder(host) + (address === '/' ? '/index' : address);
  return [address, file.slice(name.length)];
}

const withoutQuery = (pattern: string) =>
  pattern.endsWith(ANY_QUERY) ? pattern.slice(0, -ANY_QUERY.length) : pattern;

const BY_PROGRAM = ['BAD_ESCAPE', 'USER_TOO_LONG', 'USER_MALFORMED', 'METHOD_NOT_ALLOWED'] as const;

function errorTable(input: ConfigInput) {
  const listed = listErrors(input).map(({ code, caching }) => ({ code, caching }));
  const all = [...listed, ...BY_PROGRAM.map((code) => ({ code, caching: 'no-store' }))];
  return {
    errors: Object.fromEntries(
      all.map(({ code, caching }) => {
        const { status, body } = FAILURES[code];
        const headers = { 'cache-control': caching, ...(status === 405 && { allow: METHODS }) };
        return [code, { status, body: JSON.parse(body.toString()), headers }];
      }),
    ),
    jsonType: JSON_TYPE,
    common: Object.fromEntries(errorHeaders(input)),
    preflight: Object.fromEntries(PREFLIGHT),
  };
}

const headerTable = ({ headers: { folders } }: ConfigInput) => ({
  headers: Object.fromEntries(folders),
});

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
  const types = Object.fromEntries(input.headers.types);
  const table = { ...routeTable(input), ...errorTable(input), ...headerTable(input), types };
  return `const SITE = ${JSON.stringify(table)};\n${readScript('../publish/worker.js')}`;
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
