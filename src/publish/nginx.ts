// The configuration of nginx for a published site.
import { METHODS } from '../http/answer.ts';
import { FAILURES } from '../http/errors.ts';
import { createDeployment, lines } from '../print/deployment.ts';
import { listening } from '../print/nginx.ts';
import {
  errorHeaders,
  hasHosts,
  headerValues,
  listErrors,
  PREFLIGHT,
  type Site,
  wholePattern,
} from './tables.ts';
import type { Target } from './targets.ts';

export function nginx(site: Site): string {
  const { config, folder } = site;
  return `# nginx for the site that \`vitrine publish\` keeps in ${folder}. Include this file where it is, in the http
# block, and reload nginx after the settings of Vitrine have changed; new data needs no reload.

# Which file answers which request. What is not listed has none, so no address leads out of the folder.
${targetMaps(site)}
${errorCaching(site)}
${headerMaps(site)}
${listening(createDeployment(config, {}))}
    root ${quote(`${folder}/current/files`)};
    gzip_static on;
    gzip_vary on;
${types(site)}
    location / {
${preflight(site)}        if ($request_method !~ "^(?:GET|HEAD)$") {
            return 405;
        }
        error_page 405 @refused;
        error_page 403 404 @none;
        try_files $vitrine_file @none;
${lines(
  [...headerValues(site)].map(([name]) => `add_header ${name} ${variable(name)};`),
  '        ',
)}    }

${errorLocations(site)}}
`;
}

/** The file and the error of each request. */
function targetMaps(site: Site): string {
  const withHost = hasHosts(site);
  const request = withHost ? '$host$request_uri' : '$request_uri';
  const row = (target: Target, value: string) => `${quote(`~${wholePattern(target, withHost)}`)} ${value};`;
  return `map ${request} $vitrine_file {
    default /-;
${lines(
  site.targets.map((target) => row(target, target.file === undefined ? '/-' : quote(`/${target.file}`))),
  '    ',
)}}

map ${request} $vitrine_error {
    default ROUTE_NOT_FOUND;
${lines(
  site.targets.filter(({ error }) => error !== 'ROUTE_NOT_FOUND').map((target) => row(target, target.error)),
  '    ',
)}}
`;
}

const errorCaching = (site: Site) => `map $vitrine_error $vitrine_error_caching {
${lines(
  listErrors(site).map(({ code, caching }) => `${code} ${caching};`),
  '    ',
)}}
`;

const headerMaps = (site: Site) =>
  [...headerValues(site)].map(([name, folders]) => headerMap(name, folders)).join('\n');

/** A header for each folder; nginx sends none that is empty. */
function headerMap(name: string, folders: ReadonlyMap<string, string>): string {
  const rows = [...folders].map(([folder, value]) => {
    const isFile = folder.includes('/');
    return `${quote(isFile ? `/${folder}` : `~^/${folder}/`)} ${quote(value)};`;
  });
  return `map $vitrine_file ${variable(name)} {\n${lines(['default "";', ...rows], '    ')}}\n`;
}

const types = ({ headers }: Site) => `    types {
${lines(
  [...headers.types]
    .filter(([extension]) => extension !== '')
    .map(([extension, type]) => `${quote(type)} ${extension};`),
  '        ',
)}    }
`;

const preflight = (site: Site) => `        if ($request_method = OPTIONS) {
${lines(
  PREFLIGHT.map(([name, value]) => `add_header ${name} ${value.includes(' ') ? quote(value) : value};`),
  '            ',
)}${lines(addErrorHeaders(site), '            ')}            return 204;
        }
`;

const addErrorHeaders = (site: Site) =>
  errorHeaders(site).map(([name, value]) => `add_header ${name} ${quote(value)} always;`);

const errorLocations = (site: Site) => `    location @none {
        types { }
        default_type "application/json; charset=utf-8";
        add_header Cache-Control $vitrine_error_caching always;
${lines(addErrorHeaders(site), '        ')}${lines(
  listErrors(site).map(
    ({ code, status, body }) => `if ($vitrine_error = ${code}) { return ${status} '${body}'; }`,
  ),
  '        ',
)}        return 404;
    }

    location @refused {
        types { }
        default_type "application/json; charset=utf-8";
        add_header Allow ${quote(METHODS)} always;
        add_header Cache-Control no-store always;
${lines(addErrorHeaders(site), '        ')}        return 405 '${FAILURES.METHOD_NOT_ALLOWED.body}';
    }
`;

const variable = (name: string) => `$vitrine_${name.replaceAll('-', '_')}`;

const quote = (text: string) => `"${text.replace(/["\\]/g, (one) => (one === '"' ? '\\"' : one))}"`;
