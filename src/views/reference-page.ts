// The API reference as a page that is whole without scripts.
import type { Config } from '../config/config.ts';
import { serverUrl } from '../config/media.ts';
import { type Markup, markup } from './markup.ts';
import { heading, layout, paragraphs, type Section, table } from './reference-layout.ts';
import { operationArticle } from './reference-operation.ts';
import { listSections, type ReferencePart, type ReferenceSection } from './reference-parts.ts';

/** Renders the page for a document. */
export function createReferencePage(config: Config): (document: object) => string {
  const address = `${serverUrl(config)}/`;

  const toSection = ({ id, title, text, rows, parts }: ReferenceSection): Section => ({
    id,
    title,
    body: markup`${paragraphs(text)}${rows && table(title, rows)}${parts.map(toArticle)}`,
    parts: parts.map((part) => [part.id, part.title]),
  });

  function toArticle(part: ReferencePart): Markup {
    const { id, title, text, rows = [], operation } = part;
    if (operation !== undefined) return operationArticle(part, operation, address);
    return markup`<article class="record" id="${id}" aria-labelledby="${id}-title">
${heading(3, id, title)}
${paragraphs(text)}${table(`Members of ${title}`, rows)}</article>
`;
  }

  return (document) => {
    const sections = listSections(document, address).map(toSection);
    return layout(config, { root: '', title: 'API reference', lead: markup``, sections });
  };
}
