// Guides for front-end developers as pages beside the API reference.
import { readFileSync } from 'node:fs';
import { Marked } from 'marked';
import type { Config } from '../config/config.ts';
import { serverUrl } from '../config/media.ts';
import { packageFile } from '../package-files.ts';
import { Markup, markup } from './markup.ts';
import { codeFigure, layout, type Section } from './reference-layout.ts';

/** What the guides call the server. */
const LOCAL = 'http://127.0.0.1:8080';

export function guidePage(config: Config, name: string, served: readonly string[]): string {
  const text = readFileSync(packageFile(`src/guides/${name}.md`), 'utf8').replaceAll(
    LOCAL,
    serverUrl(config),
  );
  const [start = '', ...parts] = text.split(/^## /m);
  const [, title = '', lead = ''] = /^# (.*)\n([\s\S]*)/.exec(start) ?? [];
  const toHtml = createRenderer(served);
  const sections = parts.map((part): Section => {
    const [heading = '', body = ''] = part.split(/\n([\s\S]*)/);
    return { id: headingId(heading), title: heading, body: toHtml(heading, body), parts: [] };
  });
  return layout(config, { root: '../', title, lead: toHtml(title, lead), sections });
}

/** As other guides refer to it. */
const headingId = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');

/**
 * Markdown to HTML; the file of a guide becomes its address, links to what is not served become plain text, and each block of code
 * a figure with a name of its own.
 */
function createRenderer(served: readonly string[]): (part: string, markdown: string) => Markup {
  let [section, count] = ['', 0];
  const marked = new Marked({
    renderer: {
      code: ({ text, lang = '' }) =>
        codeFigure(LANGUAGES[lang] ?? lang, `${section}, code ${(count += 1)}`, text).text,
      link(token) {
        const [file, guide = ''] = /^(?:([\w-]+)\.md|\.\.\/)/.exec(token.href) ?? [];
        if (file === undefined) return false;
        if (!served.includes(guide)) return this.parser.parseInline(token.tokens);
        token.href = token.href.replace(file, guide);
        return false;
      },
    },
  });
  return (part, markdown) => {
    section = part;
    return markup`${new Markup(marked.parse(markdown, { async: false }))}`;
  };
}

const LANGUAGES: Readonly<Record<string, string>> = {
  html: 'HTML',
  js: 'JavaScript',
  md: 'Markdown',
  sh: 'Shell',
  ts: 'TypeScript',
  tsx: 'TypeScript with JSX',
};
