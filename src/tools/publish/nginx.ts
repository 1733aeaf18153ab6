// The configuration of nginx for a published site.

import { FAILURES } from '../../api/http/errors.ts';
import { METHODS } from '../../api/http/headers.ts';
import { createPrintInput, lines } from '../print/input.ts';
import { listening, quotePattern as quote, typesBlock } from '../print/nginx-syntax.ts';
import {
  type ConfigInput,
  errorHeaders,
  hasHosts,
  listFileErrors,
  PREFLIGHT_HEADERS,
  wholePattern,
} from './tables.ts';
import type { Target } from './targets.ts';

export function nginx(input: ConfigInput): string {
  const { config, folder } = input;
  return `# nginx for the site that \`vitrine publish\` keeps in ${folder}. Include this file where it is, in the http
# block, and reload nginx after the settings of Vitrine have changed; new data needs no reload.

# Which file answers which request. What is not listed has none, so no address leads out of the folder.
${targetMaps(input)}
${errorCaching(input)}
${headerMaps(input)}
${listening(createPrintInput(config, {}))}
    root ${quote(`${folder}/current/files`)};
    gzip_static on;
    gzip_vary on;
${types(input)}
    location / {
${preflight(input)}        if ($request_method !~ "^(?:GET|HEAD)$") {
            return 405;
        }
        error_page 405 @refused;
        error_page 403 404 @none;
        try_files $vitrine_file @none;
${lines(
  [...headerValues(input)].map(([name]) => `add_header ${name} ${variable(name)};`),
  '        ',
)}    }

${errorLocations(input)}}
`;
}

/** The file and the error of each request. */
function targetMaps(input: ConfigInput): string {
  const withHost = hasHosts(input);
  const request = withHost ? '$http_host$request_uri' : '$request_uri';
  const row = (target: Target, value: string) => `${quote(`~${wholePattern(target, withHost)}`)} ${value};`;
  return `map ${request} $vitrine_file {
    default /-;
${lines(
  input.targets.map((target) => row(target, target.file === undefined ? '/-' : quote(`/${target.file}`))),
  '    ',
)}}

map ${request} $vitrine_error {
    default ROUTE_NOT_FOUND;
${lines(
  input.targets.map((target) => row(target, target.error)),
  '    ',
)}}
`;
}

const errorCaching = (input: ConfigInput) => `map $vitrine_error $vitrine_error_caching {
${lines(
  listFileErrors(input).map(({ code, caching }) => `${code} "${caching}";`),
  '    ',
)}}
`;

const headerMaps = (input: ConfigInput) =>
  [...headerValues(input)].map(([name, folders]) => headerMap(name, folders)).join('\n');

/** The values of a header: by folder, or by the path of a file that is there once. */
function headerValues({ headers: { folders } }: ConfigInput): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const [folder, headers] of folders)
    for (const [name, value] of Object.entries(headers))
      found.set(name, (found.get(name) ?? new Map()).set(folder, value));
  return found;
}

/** A header for each folder; nginx sends none that is empty. */
function headerMap(name: string, folders: ReadonlyMap<string, string>): string {
  const rows = [...folders].map(([folder, value]) => {
    const isFile = folder.includes('/');
    return `${quote(isFile ? `/${folder}` : `~^/${folder}/`)} ${quote(value)};`;
  });
  return `map $vitrine_file ${variable(name)} {\n${lines(['default "";', ...rows], '    ')}}\n`;
}

const types = ({ headers }: ConfigInput) =>
  typesBlock(
    [...headers.types].filter(([extension]) => extension !== ''),
    '    ',
  );

const preflight = (input: ConfigInput) => `        if ($request_method = OPTIONS) {
${lines(
  PREFLIGHT_HEADERS.map(
    ([name, value]) => `add_header ${name} ${value.includes(' ') ? quote(value) : value};`,
  ),
  '            ',
)}${lines(addErrorHeaders(input), '            ')}            return 204;
        }
`;

const addErrorHeaders = (input: ConfigInput) =>
  errorHeaders(input).map(([name, value]) => `add_header ${name} ${quote(value)} always;`);

const errorLocations = (input: ConfigInput) => `    location @none {
        types { }
        default_type "application/json; charset=utf-8";
        add_header Cache-Control $vitrine_error_caching always;
${lines(addErrorHeaders(input), '        ')}${lines(
  listFileErrors(input).map(
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
${lines(addErrorHeaders(input), '        ')}        return 405 '${FAILURES.METHOD_NOT_ALLOWED.body}';
    }
`;

const variable = (name: string) => `$vitrine_${name.replaceAll('-', '_')}`;
