// What the sections of the reference consist of: headings, text, tables and code.
import { type Markup, markup } from './markup.ts';

/** A heading with a link to the part that it heads; the part has the id, and is labelled by the heading. */
export const heading = (level: 2 | 3, id: string, title: string) => {
  const element =
    level === 2 ? markup`<h2 id="${id}-title">${title}</h2>` : markup`<h3 id="${id}-title">${title}</h3>`;
  return markup`<div class="heading">${element}<a class="permalink" href="#${id}" aria-label="Link to “${title}”">#</a></div>`;
};

/** Markdown as descriptions have it: `code` and **bold**. */
export function inline(words: string): Markup {
  const parts = words.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`')) return markup`<code>${part.slice(1, -1)}</code>`;
    return part.startsWith('**') ? markup`<strong>${part.slice(2, -2)}</strong>` : part;
  });
  return markup`${parts}`;
}

export const paragraphs = (words: string) =>
  markup`${words.split('\n\n').map((paragraph) => markup`<p>${inline(paragraph)}</p>\n`)}`;

export type TableRow = readonly [name: Markup, meaning: Markup];

/** Two columns, so that it fits on a phone. */
export const table = (
  caption: string,
  [name, meaning]: readonly [string, string],
  rows: readonly TableRow[],
) =>
  markup`<table><caption>${caption}</caption>
<thead><tr><th scope="col">${name}</th><th scope="col">${meaning}</th></tr></thead>
<tbody>
${rows.map(([first, second]) => markup`<tr><th scope="row">${first}</th><td>${second}</td></tr>\n`)}</tbody></table>`;

/** A smaller, quieter line. */
export const note = (words: Markup) => markup`<div class="note">${words}</div>`;

export const spaced = (parts: readonly Markup[]) => parts.map((part, index) => [index > 0 && ' ', part]);

/** A script adds a button that copies the code. */
export const codeFigure = (language: string, label: string, code: string) =>
  markup`<figure class="code"><figcaption>${language}</figcaption><pre tabindex="0" role="region" aria-label="${label}"><code>${code}</code></pre></figure>
`;
