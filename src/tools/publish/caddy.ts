// The configuration of Caddy for a published site.
import { extname } from 'node:path';
import { FAILURES } from '../../api/http/errors.ts';
import { METHODS } from '../../api/http/headers.ts';
import { createPrintInput, lines } from '../print/input.ts';
import type { AnswerHeaders } from './answers.ts';
import {
  type ConfigInput,
  errorHeaders,
  hasHosts,
  listFileErrors,
  PREFLIGHT_HEADERS,
  wholePattern,
} from './tables.ts';
import type { Target } from './targets.ts';

export function caddy(input: ConfigInput): string {
  const { config, folder } = input;
  const { hosts, https } = createPrintInput(config, {});
  return `# Caddy for the site that \`vitrine publish\` keeps in ${folder}. Import this file where it is, and reload Caddy after
# the settings of Vitrine have changed; new data needs no reload.

${hosts.map((host) => (https ? host : `http://${host}`)).join(', ')} {
	route {
		# Which file answers which request. What is not listed has none, so no address leads out of the folder.
${targetMap(input)}${methods(input)}		# The path of the file is the root, so that it is taken as it is: a path would be unescaped.
		root * {vitrine_file}
		rewrite * /
		header Content-Type {vitrine_type}
${headersByKind(input)}		file_server {
			precompressed gzip
			disable_canonical_uris
		}
	}

	handle_errors {
${errors(input)}	}
}
`;
}

/** The file, the kind of its headers, the type and the error of each request. */
function targetMap(input: ConfigInput): string {
  const { folder, targets, headers } = input;
  const withHost = hasHosts(input);
  const files = `${folder}/current/files/`;
  const row = (target: Target) => {
    const { file, error } = target;
    const path = file?.replace(/\$\d/g, (group) => `\${${group.slice(1)}}`) ?? '-';
    const kind = file === undefined ? '-' : findFolderHeaders(file, headers.folders);
    const type = headers.types.get(extname(path).slice(1)) ?? '-';
    const values = [`~${wholePattern(target, withHost)}`, files + path, kind, type].map(quote);
    return `${values.join(' ')} ${error}`;
  };
  return `		map ${withHost ? '{hostport}{http.request.orig_uri}' : '{http.request.orig_uri}'} {vitrine_file} {vitrine_kind} {vitrine_type} {vitrine_error} {
${lines(targets.map(row), '\t\t\t')}			default ${quote(`${files}-`)} - - ROUTE_NOT_FOUND
		}
`;
}

/** Files in a folder have the headers of the folder; one that is there once has its own. */
const findFolderHeaders = (file: string, folders: ReadonlyMap<string, AnswerHeaders>) =>
  folders.has(file) ? file : (file.split('/', 1)[0] ?? '');

const methods = (input: ConfigInput) => `		@preflight method OPTIONS
		handle @preflight {
${lines(
  PREFLIGHT_HEADERS.map(([name, value]) => `header ${name} ${value.includes(' ') ? quote(value) : value}`),
  '\t\t\t',
)}${lines(addErrorHeaders(input), '\t\t\t')}			respond 204
		}
		@refused not method GET HEAD OPTIONS
		handle @refused {
			header Allow ${quote(METHODS)}
			header Cache-Control no-store
			header Content-Type "application/json; charset=utf-8"
${lines(addErrorHeaders(input), '\t\t\t')}			respond ${quote(FAILURES.METHOD_NOT_ALLOWED.body.toString())} 405
		}
`;

const addErrorHeaders = (input: ConfigInput) =>
  errorHeaders(input).map(([name, value]) => `header ${name} ${quote(value)}`);

const headersByKind = ({ headers: { folders } }: ConfigInput) =>
  [...folders]
    .map(([kind, headers], at) => {
      const rows = Object.entries(headers).map(
        ([name, value]) => `header @kind${at} ${name} ${quote(value)}`,
      );
      return lines([`@kind${at} expression \`{vitrine_kind} == '${kind}'\``, ...rows], '\t\t');
    })
    .join('');

const errors = (input: ConfigInput) =>
  listFileErrors(input)
    .map(
      ({ code, status, body, caching }) => `		@${code} expression \`{vitrine_error} == '${code}'\`
		handle @${code} {
			header Cache-Control ${caching}
			header Content-Type "application/json; charset=utf-8"
${lines(addErrorHeaders(input), '\t\t\t')}			respond ${quote(body)} ${status}
		}
`,
    )
    .join('');

/** In Caddy's syntax, text between backticks is taken as it is. */
const quote = (text: string) => (text.includes('`') ? `"${text.replace(/["\\]/g, '\\$&')}"` : `\`${text}\``);
