// The guides as pages beside the API reference.
import { Marked } from 'marked';
import type { Config } from '../../config/settings.ts';
import { Markup, markup } from '../markup.ts';
import { codeFigure, curly, layout, type Section } from './reference-layout.ts';
import { headingId, readGuide } from './reference-text.ts';

export function guidePage(config: Config, name: string): string {
  const text = readGuide(config, name, '../');
  const [start = '', ...parts] = text.split(/^## /m);
  const [, title = '', lead = ''] = /^# (.*)\n([\s\S]*)/.exec(start) ?? [];
  const toHtml = createRenderer();
  const sections = parts.map((part): Section => {
    const [heading = '', body = ''] = part.split(/\n([\s\S]*)/);
    return { id: headingId(heading), title: heading, body: toHtml(heading, body), parts: [] };
  });
  return layout(config, {
    root: '../',
    title,
    lead: markup`<div class="lead">${toHtml(title, lead)}</div>\n`,
    sections,
  });
}

/** Markdown to HTML, and each block of code a figure with a name of its own. */
function createRenderer(): (part: string, markdown: string) => Markup {
  let [section, count] = ['', 0];
  const marked = new Marked({
    renderer: {
      heading({ text, tokens, depth }) {
        return `<h${depth} id="${headingId(text.replaceAll('`', ''))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code({ text, lang = '' }) {
        count++;
        return codeFigure(LANGUAGES[lang] ?? lang, `${section}, code ${count}`, text).text;
      },
    },
    walkTokens(token) {
      if (token.type === 'text') token.text = curly(token.text);
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
  json: 'JSON',
  md: 'Markdown',
  nginx: 'nginx',
  sh: 'Shell',
  ts: 'TypeScript',
  tsx: 'TypeScript with JSX',
};
