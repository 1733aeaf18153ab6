// @ts-check
// The code that sends a request, in four languages.

/** @typedef {{ url: string, headers?: Record<string, string>, target?: string }} Shown `target`: where JavaScript puts the body */

/** Percent-encoded so that the result is also safe inside single quotes. @param {string} text */
export const escaped = (text) =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

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
  JavaScript({ url, headers, target }) {
    const pairs = Object.entries(headers).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`);
    const options = pairs.length > 0 ? `\n  { headers: { ${pairs.join(', ')} } },` : '';
    return `const response = await fetch(\n  '${url}',${options}\n);\nconst ${target} = await response.json();`;
  },
  Python({ url, headers }) {
    const pairs = Object.entries(headers).map(([name, value]) => `${quoted(name)}: ${quoted(value)}`);
    const options = pairs.length > 0 ? `\n    headers={${pairs.join(', ')}},` : '';
    return `import json\nfrom urllib.request import Request, urlopen\n\nrequest = Request(\n    '${url}',${options}\n)\nwith urlopen(request) as response:\n    body = json.load(response)`;
  },
  PHP({ url, headers }) {
    const lines = Object.entries(headers).map(([name, value]) => quoted(`${name}: ${value}`));
    const context =
      lines.length > 0
        ? `$context = stream_context_create(['http' => ['header' => [${lines.join(', ')}]]]);\n`
        : '';
    const more = lines.length > 0 ? '\n    false,\n    $context,' : '';
    return `<?php\n${context}$json = file_get_contents(\n    '${url}',${more}\n);\n$body = json_decode($json, true);`;
  },
};

export const LANGUAGES = Object.keys(WRITERS);

/** @param {string} language @param {Shown} shown */
export const snippetIn = (language, { url, headers = {}, target = 'body' }) =>
  (WRITERS[language] ?? WRITERS.curl)?.({ url, headers, target }) ?? '';
