// Parts of a configuration of nginx, in front of Vitrine or in front of published files.
import { lines, type PrintInput } from './input.ts';

/** The begin of the server; over TLS if the base URLs say so, and then with a redirect. */
export function listening({ https, names, ports }: PrintInput): string {
  const folder = `/etc/letsencrypt/live/${names[0]}`;
  const tls = [
    ...(https ? ports : ['443']).map(
      (port) =>
        `listen ${port} ssl http2;  # from nginx 1.25.1 on, without a warning: listen ${port} ssl; http2 on;`,
    ),
    `ssl_certificate     ${folder}/fullchain.pem;`,
    `ssl_certificate_key ${folder}/privkey.pem;`,
  ];
  const name = `server_name ${names.join(' ')};`;
  const plain = [...ports.map((port) => `listen ${port};`), ...tls.map((line) => `# ${line}`), name];
  const redirect = [
    'listen 80;',
    name,
    `return 301 https://$host${ports.includes('443') ? '' : `:${ports[0]}`}$request_uri;`,
  ];
  if (!https) return `server {\n${lines(plain, '    ')}`;
  return `server {\n${lines(redirect, '    ')}}\n\nserver {\n${lines([...tls, name], '    ')}`;
}

/** The types of files by their extension. */
export const typesBlock = (types: Iterable<readonly [extension: string, type: string]>, indent: string) =>
  `${indent}types {\n${lines(
    [...types].map(([extension, type]) => `${quoteText(type)} ${extension};`),
    `${indent}    `,
  )}${indent}}\n`;

export const quoteText = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;

/** nginx leaves a backslash alone before anything but a quote, a backslash and letters of whitespace. */
export const quotePattern = (text: string) => `"${text.replaceAll('"', '\\"')}"`;
