// The configuration of nginx for a published site.

import { METHODS } from '../http/answer.ts';
import { FAILURES } from '../http/errors.ts';
import { deploymentOf, lines } from '../print/deployment.ts';
import { listening } from '../print/nginx.ts';
import { hasHosts, headerValues, listErrors, type Site, wholePattern } from './tables.ts';

export function nginx(site: Site): string {
  const { config, folder, targets, headers } = site;
  const withHost = hasHosts(site);
  const request = withHost ? '$host$request_uri' : '$request_uri';
  const errors = listErrors(site);
  const values = [...headerValues(site)];
  const common = Object.entries(headers.folders.get('errors') ?? {}).filter(
    ([name]) => name !== 'cache-control',
  );
  const added = common.map(([name, value]) => `add_header ${name} ${quote(value)} always;`);
  const types = [...headers.types].filter(([extension]) => extension !== '');
  return `# nginx for the site that \`vitrine publish\` keeps in ${folder}. Include this file where it is, in the http
# block, and reload nginx after the settings of Vitrine have changed; new data needs no reload.

# Which file answers which request. What is not listed has none, so no address leads out of the folder.
map ${request} $vitrine_file {
    default /-;
${lines(
  targets.flatMap((target) =>
    target.file === undefined
      ? [`${quote(`~${wholePattern(target, withHost)}`)} /-;`]
      : [`${quote(`~${wholePattern(target, withHost)}`)} ${quote(`/${target.file}`)};`],
  ),
  '    ',
)}}

map ${request} $vitrine_error {
    default ROUTE_NOT_FOUND;
${lines(
  targets
    .filter(({ error }) => error !== 'ROUTE_NOT_FOUND')
    .map((target) => `${quote(`~${wholePattern(target, withHost)}`)} ${target.error};`),
  '    ',
)}}

map $vitrine_error $vitrine_error_caching {
${lines(
  errors.map(({ code, caching }) => `${code} ${caching};`),
  '    ',
)}}

${values.map(([name, folders]) => headerMap(name, folders)).join('\n')}
${listening(deploymentOf(config, {}))}
    root ${quote(`${folder}/current/files`)};
    gzip_static on;
    gzip_vary on;
    types {
${lines(
  types.map(([extension, type]) => `${quote(type)} ${extension};`),
  '        ',
)}    }

    location / {
        if ($request_method = OPTIONS) {
            add_header Allow ${quote(METHODS)};
            add_header Access-Control-Allow-Methods ${quote(METHODS)};
            add_header Access-Control-Allow-Headers *;
            add_header Access-Control-Max-Age 86400;
${lines(added, '            ')}            return 204;
        }
        if ($request_method !~ "^(?:GET|HEAD)$") {
            return 405;
        }
        error_page 405 @refused;
        error_page 403 404 @none;
        try_files $vitrine_file @none;
${lines(
  values.map(([name]) => `add_header ${name} ${variable(name)};`),
  '        ',
)}    }

    location @none {
        types { }
        default_type "application/json; charset=utf-8";
        add_header Cache-Control $vitrine_error_caching always;
${lines(added, '        ')}${lines(
  errors.map(({ code, status, body }) => `if ($vitrine_error = ${code}) { return ${status} '${body}'; }`),
  '        ',
)}        return 404;
    }

    location @refused {
        types { }
        default_type "application/json; charset=utf-8";
        add_header Allow ${quote(METHODS)} always;
        add_header Cache-Control no-store always;
${lines(added, '        ')}        return 405 '${FAILURES.METHOD_NOT_ALLOWED.body}';
    }
}
`;
}

const variable = (name: string) => `$vitrine_${name.replaceAll('-', '_')}`;

/** A header for each folder; nginx sends none that is empty. */
function headerMap(name: string, folders: ReadonlyMap<string, string>): string {
  const rows = [...folders].map(([folder, value]) => {
    const isFile = folder.includes('/');
    return `${quote(isFile ? `/${folder}` : `~^/${folder}/`)} ${quote(value)};`;
  });
  return `map $vitrine_file ${variable(name)} {\n${lines(['default "";', ...rows], '    ')}}\n`;
}

const quote = (text: string) => `"${text.replace(/["\\]/g, (one) => (one === '"' ? '\\"' : one))}"`;
