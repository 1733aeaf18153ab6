// The program and the configuration of Cloudflare Workers for a published site.
import { readFileSync } from 'node:fs';
import { JSON_TYPE, METHODS } from '../http/answer.ts';
import { FAILURES } from '../http/errors.ts';
import { errorHeaders, hasHosts, listErrors, PREFLIGHT, type Site } from './tables.ts';
import { NAME } from './targets.ts';

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

export const cloudflare = (site: Site) => [
  `${JSON.stringify(WRANGLER, null, 2)}\n`,
  `${program(site, 'worker.js')}
export default { fetch: answer };
`,
];

/** A program for a host that runs code: what it knows of the site, router.js, and lines for the host. */
export const program = (site: Site, own: string) =>
  `const SITE = ${JSON.stringify(siteTable(site))};\n\n${readProgram('router.js')}\n${readProgram(own)}`;

/** One file, without what joins the parts. */
const readProgram = (name: string) =>
  readFileSync(new URL(name, import.meta.url), 'utf8')
    .replace(/^import .*\n/gm, '')
    .replace(/^\/\* global .*\n\n/gm, '')
    .replace(/^export (?=function)/gm, '');

/** What router.js reads of names is what they are, so errors about other spellings have no rows. */
function siteTable(site: Site) {
  const { headers, targets } = site;
  const common = { 'content-type': JSON_TYPE, ...Object.fromEntries(errorHeaders(site)) };
  const codes = ['BAD_ESCAPE', 'USER_TOO_LONG', 'USER_MALFORMED', 'METHOD_NOT_ALLOWED'] as const;
  const others = codes.map((code) => {
    const { status, body } = FAILURES[code];
    return { code, status, body: body.toString(), caching: 'no-store' };
  });
  return {
    targets: targets
      .filter(({ file, error }) => file !== undefined || error !== 'USER_NOT_FOUND')
      .map(({ host, pattern, file, error }) => ({
        ...(hasHosts(site) && { host }),
        ...{ pattern: pattern.replaceAll(NAME, '([^/?&]+)'), file, error },
      })),
    headers: Object.fromEntries([...headers.folders].filter(([kind]) => kind !== 'errors')),
    types: Object.fromEntries(headers.types),
    errors: Object.fromEntries(
      [...listErrors(site), ...others].map(({ code, status, body, caching }) => {
        const own = { 'cache-control': caching, ...(status === 405 && { allow: METHODS }) };
        return [code, { status, body, headers: { ...common, ...own } }];
      }),
    ),
    preflight: Object.fromEntries([...PREFLIGHT, ...errorHeaders(site)]),
  };
}
