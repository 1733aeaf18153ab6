// The programs for hosts that run code: a line with what they know of the site, router.js, and lines for the host.
// Cloudflare, Netlify and Vercel run the same one, with a short configuration each.
import { readFileSync } from 'node:fs';
import { JSON_TYPE, METHODS } from '../http/answer.ts';
import { FAILURES } from '../http/errors.ts';
import { MEDIA_TYPES } from '../records/media-types.ts';
import { errorHeaders, hasHosts, listErrors, PREFLIGHT, type Site } from './tables.ts';
import { ANY_QUERY, listHosts, NAME, siteFolder, type Target } from './targets.ts';

/** The text of a program from some of our files, without what only joins, explains or indents them: CloudFront has little room. */
export const program = (site: object, ...names: readonly string[]) =>
  [`const SITE = ${JSON.stringify(site)};\n`, ...names.map(readProgram)].join('\n');

const readProgram = (name: string) =>
  readFileSync(new URL(name, import.meta.url), 'utf8')
    .replace(/^(?:import|\/\/|\/\*).*\n\n?/gm, '')
    .replace(/^(?:export | +)/gm, '');

/** One for all types. */
const MEDIA_ROW = [
  `/media/([0-9a-f]{2})([0-9a-f]+)\\.(${Object.keys(MEDIA_TYPES).join('|')})`,
  'ROUTE_NOT_FOUND',
  'media/$1/$1$2.$3',
];

/**
 * Which file answers which address, as router.js reads it. It decodes names itself, so there are no rows about spellings
 * that no file has.
 */
export function routeTable(site: Site) {
  const all = listHosts(site.config);
  const hosts = hasHosts(site) ? all.filter((host) => host !== undefined) : [];
  const isWhole = ({ file }: { file?: string }) => file !== undefined && !file.includes('$');
  const rows = site.targets.filter(
    ({ file, error }) => !file?.startsWith('media/') && (file !== undefined || error !== 'USER_NOT_FOUND'),
  );
  return {
    hosts,
    folder: hosts.length < all.length ? siteFolder(hasHosts(site) ? undefined : all[0]) : '',
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

export function errorTable(site: Site) {
  const listed = listErrors(site).map(({ code, caching }) => ({ code, caching }));
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
    common: Object.fromEntries(errorHeaders(site)),
    preflight: Object.fromEntries(PREFLIGHT),
  };
}

const headerTable = ({ headers: { folders } }: Site) => ({
  headers: Object.fromEntries([...folders].filter(([kind]) => kind !== 'errors')),
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

export const cloudflare = (site: Site) => ({
  'wrangler.json': `${JSON.stringify(WRANGLER, null, 2)}\n`,
  'worker.js': `${worker(site)}\nexport default { fetch: answer };\n`,
});

function worker(site: Site): string {
  const types = Object.fromEntries(site.headers.types);
  const table = { ...routeTable(site), ...errorTable(site), ...headerTable(site), types };
  return program(table, 'router.js', 'worker.js');
}

/** Netlify and Vercel ask the program before they look for a file, also when it asks for one itself: then it lets pass. */
const BEFORE_FILES = `
const OWN = 'x-vitrine-file';
const ASSETS = { fetch: (url) => fetch(url, { headers: { [OWN]: '1' } }) };
export default (request) => (request.headers.has(OWN) ? undefined : answer(request, { ASSETS }));
`;

export const netlify = (site: Site) => ({
  'netlify.toml': '[build]\npublish = "files"\nedge_functions = "edge-functions"\n',
  'edge-functions/vitrine.js': `${worker(site)}${BEFORE_FILES}export const config = { path: '/*' };\n`,
});

const VERCEL = { framework: null, buildCommand: null, installCommand: null, outputDirectory: 'files' };

export const vercel = (site: Site) => ({
  'vercel.json': `${JSON.stringify(VERCEL, null, 2)}\n`,
  'middleware.js': `${worker(site)}${BEFORE_FILES}`,
});
