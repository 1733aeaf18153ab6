// The configuration of Apache for a published site.
import { extname } from 'node:path';
import { createDeployment, lines } from '../print/deployment.ts';
import {
  errorHeaders,
  findKind,
  hasHosts,
  headerValues,
  listErrors,
  PREFLIGHT,
  type Site,
} from './tables.ts';
import type { Target } from './targets.ts';

/** Endings that mean an encoding to Apache, also in the middle of a name: a user may be called so. */
const ENCODINGS = '.gz .tgz .Z .bz2 .xz .br .zst';

export function apache(site: Site): string {
  const { folder } = site;
  const files = `${folder}/current/files`;
  return `# Apache for the site that \`vitrine publish\` keeps in ${folder}. Include this file where it is, load mod_rewrite,
# mod_headers and mod_mime (a2enmod rewrite headers mime), and reload Apache after the settings of Vitrine have changed;
# new data needs no reload.

<VirtualHost *:80>
${serverNames(site)}    DocumentRoot "${files}"
    AllowEncodedSlashes NoDecode
    FileETag MTime Size
    <Directory "${files}">
        Require all granted
        AllowOverride None
        Options FollowSymLinks
        SetHandler default-handler
        RemoveEncoding ${ENCODINGS}
    </Directory>

    RewriteEngine On

    # The body of an error: a file as well.
    RewriteCond %{ENV:REDIRECT_STATUS} .
    RewriteRule "^/-errors/([A-Z_]+)$" "${files}/errors/$1.json" "[L,T=application/json; charset=utf-8]"

    RewriteCond %{REQUEST_METHOD} =OPTIONS
    RewriteRule ^ - [R=204,L]
    RewriteCond %{REQUEST_METHOD} !^(?:GET|HEAD)$
    RewriteRule ^ - [R=405,L,E=vitrine_error:METHOD_NOT_ALLOWED]

    # Which file answers which request. What is not listed has none, so no address leads out of the folder.
${lines(
  site.targets.flatMap((target) => rules(site, target)),
  '    ',
)}    RewriteRule ^ - [R=404,L,E=vitrine_error:ROUTE_NOT_FOUND]

${errorDocuments(site)}
    Header set Content-Encoding gzip env=vitrine_gzip
    Header merge Vary Accept-Encoding env=vitrine_kind
${headersByKind(site)}
${setErrorHeaders(site)}</VirtualHost>
`;
}

function serverNames({ config }: Site): string {
  const [name = '', ...aliases] = createDeployment(config, {}).names;
  return lines([`ServerName ${name}`, ...aliases.map((alias) => `ServerAlias ${alias}`)], '    ');
}

const errorDocuments = (site: Site) =>
  lines(
    [...new Set([405, ...listErrors(site).map(({ status }) => status)])].map(
      (status) => `ErrorDocument ${status} "/-errors/%{reqenv:vitrine_error}"`,
    ),
    '    ',
  );

const headersByKind = (site: Site) =>
  lines(
    [...headerValues(site)].flatMap(([header, folders]) =>
      [...folders].map(
        ([kind, value]) => `Header set ${header} "${value}" "expr=reqenv('vitrine_kind') == '${kind}'"`,
      ),
    ),
    '    ',
  );

function setErrorHeaders(site: Site): string {
  const always = (header: string, value: string, condition: string) =>
    `Header always set ${header} ${value} "expr=${condition}"`;
  const is = (status: number) => `%{REQUEST_STATUS} -eq ${status}`;
  const isError = '%{REQUEST_STATUS} -ge 400';
  return lines(
    [
      ...errorHeaders(site).map(([header, value]) =>
        always(header, `"${value}"`, `${isError} || ${is(204)}`),
      ),
      always('Cache-Control', 'max-age=5', is(404)),
      always('Cache-Control', 'no-store', `${isError} && %{REQUEST_STATUS} -ne 404`),
      ...PREFLIGHT.map(([header, value]) =>
        header === 'Allow'
          ? always(header, `"${value}"`, `${is(405)} || ${is(204)}`)
          : always(header, value.includes(' ') ? `"${value}"` : value, is(204)),
      ),
    ],
    '    ',
  );
}

/** The compressed file for those that take it, then the file. */
function rules(site: Site, target: Target): string[] {
  const { folder, headers } = site;
  const host = target.host?.replace(/[.[\]]/g, '\\$&');
  const conditions = [
    ...(hasHosts(site) && host !== undefined
      ? [`RewriteCond %{HTTP_HOST} "^${host}\\.?(?::\\d+)?$" [NC]`]
      : []),
    `RewriteCond %{THE_REQUEST} "^[A-Z]+ ${target.pattern} HTTP/"`,
  ];
  if (target.file === undefined) {
    const status = listErrors({ targets: [target] })[0]?.status;
    return [...conditions, `RewriteRule ^ - [R=${status},L,E=vitrine_error:${target.error}]`];
  }
  const file = `${folder}/current/files/${target.file.replaceAll('$', '%')}`;
  const type = headers.types.get(extname(target.file).slice(1)) ?? 'application/octet-stream';
  const kind = findKind(target.file, headers.folders);
  const flags = `L,T=${type},E=vitrine_kind:${kind},E=vitrine_error:${target.error}`;
  return [
    'RewriteCond %{HTTP:Accept-Encoding} gzip',
    ...conditions,
    `RewriteCond "${file}.gz" -s`,
    `RewriteRule ^ "${file}.gz" "[${flags},E=no-gzip:1,E=vitrine_gzip:1]"`,
    ...conditions,
    `RewriteRule ^ "${file}" "[${flags}]"`,
  ];
}
