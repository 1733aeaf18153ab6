// The configuration of Caddy for a published site.
import { extname } from 'node:path';
import { METHODS } from '../http/answer.ts';
import { FAILURES } from '../http/errors.ts';
import { createDeployment, lines } from '../print/deployment.ts';
import {
  errorHeaders,
  findKind,
  hasHosts,
  listErrors,
  PREFLIGHT,
  type Site,
  wholePattern,
} from './tables.ts';
import type { Target } from './targets.ts';

export function caddy(site: Site): string {
  const { config, folder } = site;
  const { names, https } = createDeployment(config, {});
  return `# Caddy for the site that \`vitrine publish\` keeps in ${folder}. Import this file where it is, and reload Caddy after
# the settings of Vitrine have changed; new data needs no reload.

${names.map((name) => (https ? name : `http://${name}`)).join(', ')} {
	route {
		# Which file answers which request. What is not listed has none, so no address leads out of the folder.
${targetMap(site)}${methods(site)}		# The path of the file is the root, so that it is taken as it is: a path would be unescaped.
		root * {vitrine_file}
		rewrite * /
		header Content-Type {vitrine_type}
${headersByKind(site)}		file_server {
			precompressed gzip
			disable_canonical_uris
		}
	}

	handle_errors {
${errors(site)}	}
}
`;
}

/** The file, the kind of its headers, the type and the error of each request. */
function targetMap(site: Site): string {
  const { folder, targets, headers } = site;
  const withHost = hasHosts(site);
  const files = `${folder}/current/files/`;
  const row = (target: Target) => {
    const { file, error } = target;
    const path = file?.replace(/\$\d/g, (group) => `\${${group.slice(1)}}`) ?? '-';
    const kind = file === undefined ? '-' : findKind(file, headers.folders);
    const type = headers.types.get(extname(path).slice(1)) ?? '-';
    const values = [`~${wholePattern(target, withHost)}`, files + path, kind, type].map(quote);
    return `${values.join(' ')} ${error}`;
  };
  return `		map ${withHost ? '{host}{http.request.orig_uri}' : '{http.request.orig_uri}'} {vitrine_file} {vitrine_kind} {vitrine_type} {vitrine_error} {
${lines(targets.map(row), '\t\t\t')}			default ${quote(`${files}-`)} - - ROUTE_NOT_FOUND
		}
`;
}

const methods = (site: Site) => `		@preflight method OPTIONS
		handle @preflight {
${lines(
  PREFLIGHT.map(([name, value]) => `header ${name} ${value.includes(' ') ? quote(value) : value}`),
  '\t\t\t',
)}${lines(addErrorHeaders(site), '\t\t\t')}			respond 204
		}
		@refused not method GET HEAD OPTIONS
		handle @refused {
			header Allow ${quote(METHODS)}
			header Cache-Control no-store
			header Content-Type "application/json; charset=utf-8"
${lines(addErrorHeaders(site), '\t\t\t')}			respond ${quote(FAILURES.METHOD_NOT_ALLOWED.body.toString())} 405
		}
`;

const addErrorHeaders = (site: Site) =>
  errorHeaders(site).map(([name, value]) => `header ${name} ${quote(value)}`);

const headersByKind = ({ headers: { folders } }: Site) =>
  [...folders]
    .filter(([kind]) => kind !== 'errors')
    .map(([kind, headers], at) => {
      const rows = Object.entries(headers).map(
        ([name, value]) => `header @kind${at} ${name} ${quote(value)}`,
      );
      return lines([`@kind${at} expression \`{vitrine_kind} == '${kind}'\``, ...rows], '\t\t');
    })
    .join('');

const errors = (site: Site) =>
  listErrors(site)
    .map(
      ({ code, status, body, caching }) => `		@${code} expression \`{vitrine_error} == '${code}'\`
		handle @${code} {
			header Cache-Control ${caching}
			header Content-Type "application/json; charset=utf-8"
${lines(addErrorHeaders(site), '\t\t\t')}			respond ${quote(body)} ${status}
		}
`,
    )
    .join('');

/** In Caddy's syntax, text between backticks is taken as it is. */
const quote = (text: string) => (text.includes('`') ? `"${text.replace(/["\\]/g, '\\$&')}"` : `\`${text}\``);
