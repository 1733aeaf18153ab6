// @ts-check
// The code that sends a request, in five languages, as the server and its pages write it.

/** @typedef {import('./snippets.d.ts').Shown} Shown */

/** Percent-encoded so that the result is also safe inside single quotes. @param {string} text */
export const escaped = (text) =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * The request of an operation with these values of its parameters; `root` is where the OpenAPI document is.
 * @param {{ path: string, server: string, types: readonly string[] }} operation
 * @param {readonly { name: string, in: string, value: string }[]} values
 * @param {string} root
 * @returns {Shown & { headers: Record<string, string> }}
 */
export function buildRequest({ path, server, types }, values, root) {
  /** @type {Record<string, string>} */
  const headers = {};
  const query = [];
  let filled = path;
  for (const { name, in: place, value } of values) {
    if (place === 'path') filled = filled.replace(`{${name}}`, escaped(value));
    else if (place === 'query') query.push(`${escaped(name)}=${escaped(value)}`);
    else headers[name] = value;
  }
  const start = new URL(server, root).href.replace(/\/+$/, '');
  return { url: `${start}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`, headers, types };
}

/** Text in single quotes, as JavaScript, Python and PHP read it. @param {string} text */
const quoted = (text) => `'${text.replace(/[\\']/g, '\\$&')}'`;

/** @type {Record<string, (shown: Required<Shown>) => string>} */
const WRITERS = {
  curl({ url, headers }) {
    const options = Object.entries(headers).map(
      ([name, value]) => ` \\\n  -H '${`${name}: ${value}`.replaceAll("'", "'\\''")}'`,
    );
    return `curl -i '${url}'${options.join('')}`;
  },
  fetch({ url, headers, target }) {
    const pairs = Object.entries(headers).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`);
    const options = pairs.length > 0 ? `\n  { headers: { ${pairs.join(', ')} } },` : '';
    // The name in `{ Shots: shots }`, or that before a type.
    const name = /(\w+) \}/.exec(target)?.[1] ?? /^\w*/.exec(target)?.[0];
    return `const response = await fetch(\n  '${url}',${options}\n);\nif (!response.ok) throw new Error('Status ' + response.status);\nconst ${target} = await response.json();\nconsole.log(${name});`;
  },
  TypeScript(shown) {
    const { types, target } = shown;
    const typed = { ...shown, target: `${target}: ${types.join(' | ')}` };
    return `import type { ${types.join(', ')} } from 'vitrine/types';\n\n${WRITERS.fetch?.(typed)}`;
  },
  Python({ url, headers }) {
    const pairs = Object.entries(headers).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`);
    const options = pairs.length > 0 ? `\n    headers={${pairs.join(', ')}},` : '';
    return `import json\nfrom urllib.request import Request, urlopen\n\nrequest = Request(\n    '${url}',${options}\n)\nwith urlopen(request) as response:  # an error status raises HTTPError\n    body = json.load(response)\nprint(body)`;
  },
  PHP({ url, headers }) {
    const lines = Object.entries(headers).map(([name, value]) => quoted(`${name}: ${value}`));
    const context =
      lines.length > 0
        ? `$context = stream_context_create(['http' => ['header' => [${lines.join(', ')}]]]);\n`
        : '';
    const more = lines.length > 0 ? '\n    false,\n    $context,' : '';
    return `<?php\n${context}$json = file_get_contents(\n    '${url}',${more}\n);\nif ($json === false) exit(1); // the warning names the status\n$body = json_decode($json, true);\nprint_r($body);`;
  },
};

export const LANGUAGES = Object.keys(WRITERS);

/** @param {string} language @param {Shown} shown */
export const snippetIn = (language, { headers = {}, target = 'body', ...shown }) =>
  WRITERS[language]?.({ headers, target, ...shown }) ?? '';
