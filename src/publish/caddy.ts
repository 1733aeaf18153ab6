// The configuration of Caddy for a published site.
import { extname } from 'node:path';
import { METHODS } from '../http/answer.ts';
import { FAILURES } from '../http/errors.ts';
import { deploymentOf, lines } from '../print/deployment.ts';
import type { Headers } from './ask.ts';
import { hasHosts, kindOf, listErrors, type Site, wholePattern } from './tables.ts';
import type { Target } from './targets.ts';

export function caddy(site: Site): string {
  const { config, folder, targets, headers } = site;
  const withHost = hasHosts(site);
  const files = `${folder}/current/files/`;
  const none = `${files}-`;
  const { names, https } = deploymentOf(config, {});
  const kinds = [...headers.folders].filter(([kind]) => kind !== 'errors');
  const common = Object.entries(headers.folders.get('errors') ?? {}).filter(
    ([name]) => name !== 'cache-control',
  );
  const added = common.map(([name, value]) => `header ${name} ${quote(value)}`);
  const row = (target: Target) => {
    const path =
      target.file === undefined
        ? none
        : files + target.file.replace(/\$\d/g, (group) => `\${${group.slice(1)}}`);
    const kind = target.file === undefined ? '-' : kindOf(target.file, headers.folders);
    const type = headers.types.get(extname(path).slice(1)) ?? '-';
    return `${quote(`~${wholePattern(target, withHost)}`)} ${quote(path)} ${quote(kind)} ${quote(type)} ${target.error}`;
  };
  return `# Caddy for the site that \`vitrine publish\` keeps in ${folder}. Import this file where it is, and reload Caddy after
# the settings of Vitrine have changed; new data needs no reload.

${names.map((name) => (https ? name : `http://${name}`)).join(', ')} {
	route {
		# Which file answers which request. What is not listed has none, so no address leads out of the folder.
		map ${withHost ? '{host}{http.request.orig_uri}' : '{http.request.orig_uri}'} {vitrine_file} {vitrine_kind} {vitrine_type} {vitrine_error} {
${lines(targets.map(row), '\t\t\t')}			default ${quote(none)} - - ROUTE_NOT_FOUND
		}
		@preflight method OPTIONS
		handle @preflight {
			header Allow ${quote(METHODS)}
			header Access-Control-Allow-Methods ${quote(METHODS)}
			header Access-Control-Allow-Headers *
			header Access-Control-Max-Age 86400
${lines(added, '\t\t\t')}			respond 204
		}
		@refused not method GET HEAD OPTIONS
		handle @refused {
			header Allow ${quote(METHODS)}
			header Cache-Control no-store
			header Content-Type "application/json; charset=utf-8"
${lines(added, '\t\t\t')}			respond ${quote(FAILURES.METHOD_NOT_ALLOWED.body.toString())} 405
		}
		# The path of the file is the root, so that it is taken as it is: a path would be unescaped.
		root * {vitrine_file}
		rewrite * /
		header Content-Type {vitrine_type}
${kinds.map(([kind, own], at) => headersOf(kind, own, at)).join('')}		file_server {
			precompressed gzip
			disable_canonical_uris
		}
	}

	handle_errors {
${listErrors(site)
  .map(
    ({ code, status, body, caching }) => `		@${code} expression \`{vitrine_error} == '${code}'\`
		handle @${code} {
			header Cache-Control ${caching}
			header Content-Type "application/json; charset=utf-8"
${lines(added, '\t\t\t')}			respond ${quote(body)} ${status}
		}
`,
  )
  .join('')}	}
}
`;
}

function headersOf(kind: string, headers: Headers, at: number): string {
  const rows = Object.entries(headers).map(([name, value]) => `header @kind${at} ${name} ${quote(value)}`);
  return lines([`@kind${at} expression \`{vitrine_kind} == '${kind}'\``, ...rows], '\t\t');
}

/** In Caddy's syntax, text between backticks is taken as it is. */
const quote = (text: string) => (text.includes('`') ? `"${text.replace(/["\\]/g, '\\$&')}"` : `\`${text}\``);
