// The frame of the API reference and its guides: header, table of contents, sections; and what sections
// consist of: headings, text, tables and code.

import { serverUrl } from '../../config/addresses.ts';
import type { Config } from '../../config/settings.ts';
import { createLook } from '../look.ts';
import { fill, type Markup, markup } from '../markup.ts';
import { withAddresses } from '../page-files.ts';
import { LANGUAGES, type Shown, snippetIn } from '../web/explorer/snippets.js';
import { readWeb } from '../web-files.ts';
import type { ReferenceRow } from './reference-parts.ts';

export interface Section {
  readonly id: string;
  readonly title: string;
  readonly body: Markup;
  /** The parts that the table of contents lists below it. */
  readonly parts: readonly (readonly [id: string, title: string])[];
}

interface Page {
  /** The way from the page to the server's root. */
  readonly root: string;
  readonly title: string;
  readonly lead: Markup;
  readonly sections: readonly Section[];
}

const PAGES = {
  docs: 'API reference',
  'docs/api': 'Using the API',
  'docs/recipes': 'Recipes',
  'docs/errors': 'API errors',
};

export function layout(config: Config, { root, title, lead, sections }: Page): string {
  const look = createLook(config);
  const template = withAddresses(config, readWeb('docs.html')).replace(
    /(?<=(?:href|src)=")(?=docs|openapi)/g,
    root,
  );
  return fill(template, {
    title: markup`<title>${title} · ${look.name}</title>`,
    browser: look.browser(root),
    brand: look.brand(
      root,
      `${root}docs`,
      markup`<h1 class="brand-name">${look.name} <span>${title}</span></h1>`,
    ),
    people: look.people(root, 'People'),
    explorer: markup`<a href="${config.directory ? `${root}explore` : `${root}./`}">Explorer</a>`,
    pages: markup`${Object.entries(PAGES).map(([path, name]) => pageLink(root + path, name, name === title))}`,
    contents: markup`${sections.map(contentsEntry)}`,
    main: markup`<main id="main" tabindex="-1" data-address="${serverUrl(config)}/">
${lead}${sections.map(sectionMarkup)}</main>`,
    footer: look.footer(),
  });
}

const pageLink = (href: string, name: string, isCurrent: boolean) =>
  markup`<a href="${href}"${isCurrent && markup` aria-current="page"`}>${name}</a>\n`;

const contentsEntry = ({ id, title, parts }: Section) =>
  markup`<li>${contentsLink([id, title])}${parts.length > 0 && markup`<ul>${parts.map((part) => markup`<li>${contentsLink(part)}</li>`)}</ul>`}</li>\n`;

const contentsLink = ([id, title]: Section['parts'][number]) => markup`<a href="#${id}">${curly(title)}</a>`;

const sectionMarkup = ({ id, title, body }: Section) =>
  markup`<section id="${id}" aria-labelledby="${id}-title">${heading(2, id, title)}\n${body}</section>\n`;

/** A heading with a link to the part that it heads; the part has the id, and is labelled by the heading. */
export const heading = (level: 2 | 3, id: string, title: string) => {
  const element =
    level === 2
      ? markup`<h2 id="${id}-title">${curly(title)}</h2>`
      : markup`<h3 id="${id}-title">${curly(title)}</h3>`;
  return markup`<div class="heading">${element}${permalink(id, title)}</div>`;
};

const permalink = (id: string, title: string) =>
  markup`<a class="permalink" href="#${id}" aria-label="Link to “${title}”">#</a>`;

const PATTERN = /(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/;

/** Markdown as descriptions have it: `code`, **bold** and links. */
export function inline(words: string): Markup {
  const parts = words.split(PATTERN).map((part) => {
    if (part.startsWith('`')) return markup`<code dir="auto">${part.slice(1, -1)}</code>`;
    if (part.startsWith('**')) return markup`<strong>${part.slice(2, -2)}</strong>`;
    const [, text, href] = /^\[(.+)\]\((.+)\)$/.exec(part) ?? [];
    return text === undefined ? curly(part) : markup`<a href="${href}">${inline(text)}</a>`;
  });
  return markup`${parts}`;
}

/** Apostrophes as they are printed. */
export const curly = (words: string) => words.replace(/(?<=\p{L})'(?=\p{L})/gu, '’');

export const paragraphs = (words: string) =>
  markup`${words.split('\n\n').map((paragraph) => markup`<p>${inline(paragraph)}</p>\n`)}`;

/** Two columns, so that it fits on a phone. */
export const memberTable = (caption: string, rows: readonly ReferenceRow[]) =>
  markup`<table><caption>${caption}</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Meaning</th></tr></thead>
<tbody>
${rows.map(
  ({ name, note: words, text, id }) =>
    markup`<tr${id && markup` id="${id}"`}><th scope="row"><code>${name}</code>${id && permalink(id, name)}${note(words)}</th><td>${inline(text)}</td></tr>\n`,
)}</tbody></table>`;

/** A smaller, quieter line. */
export const note = (words: Markup | string) => markup`<div class="note">${words}</div>`;

/** A choice of panels, which needs no script: that of the checked button is shown. */
export const tabs = (
  name: string,
  legend: string,
  panels: readonly (readonly [label: string, panel: Markup])[],
) =>
  markup`<legend class="visually-hidden">${legend}</legend>
${panels.map(([label], at) => markup`<label><input type="radio" name="${name}" value="${label}"${at === 0 && markup` checked`}><span>${label}</span></label>`)}
<div class="panels">${panels.map(([, panel]) => panel)}</div>`;

/** The code of a request in every language; a script fills it again when the request changes. */
export function codeTabs(id: string, name: string, shown?: Shown): Markup {
  const panels = LANGUAGES.map((language) => {
    const code = shown && snippetIn(language, shown);
    const label = `${name} in ${language}`;
    return [
      language,
      markup`<pre tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre>`,
    ] as const;
  });
  return markup`<fieldset class="tabs segments small languages" id="${id}-code">${tabs(`${id}-language`, 'Language', panels)}</fieldset>`;
}

/** A script adds a button that copies the code. */
export const codeFigure = (language: string, label: string, code: string) =>
  markup`<figure class="code"><figcaption>${language}</figcaption><pre tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre></figure>
`;
