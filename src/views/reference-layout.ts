// The frame of the API reference and its guides: header, table of contents with a search, sections.
import type { Config } from '../config/config.ts';
import { serverUrl } from '../config/media.ts';
import { createLook } from './look.ts';
import { fill, type Markup, markup } from './markup.ts';
import { heading } from './reference-parts.ts';
import { readWeb } from './web-files.ts';

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

export function layout(config: Config, { root, title, lead, sections }: Page): string {
  const look = createLook(config);
  const template = readWeb('docs.html').replace(/(?<=(?:href|src)=")(?=docs|openapi)/g, root);
  return fill(template, {
    title: markup`<title>${title} · ${look.name}</title>`,
    icon: look.icon(root),
    brand: look.brand(
      root,
      `${root}docs`,
      markup`<h1 class="brand-name">${look.name} <span>${title}</span></h1>`,
    ),
    explorer: config.explorer ? markup`<a href="${root}./">Explorer</a>` : undefined,
    contents: markup`${sections.map(contentsEntry)}`,
    main: markup`<main id="main" tabindex="-1" data-address="${serverUrl(config)}/">
${lead}
${sections.map(({ id, title, body }) => markup`<section id="${id}" aria-labelledby="${id}-title">${heading(2, id, title)}\n${body}</section>\n`)}</main>`,
    footer: look.footer(),
  });
}

const contentsEntry = ({ id, title, parts }: Section) =>
  markup`<li><a href="#${id}">${title}</a>${parts.length > 0 && markup`<ul>${parts.map(([part, name]) => markup`<li><a href="#${part}">${name}</a></li>`)}</ul>`}</li>\n`;
