// The API reference: the OpenAPI document as a page that is whole without scripts.
import type { Mount } from '../config/clashes.ts';
import { type Config, listMounts } from '../config/config.ts';
import { serverUrl } from '../config/media.ts';
import { VARIANTS } from '../variants.ts';
import { type ApiDocument, type ApiOperation, listOperations } from './api-document.ts';
import { createLook } from './look.ts';
import { fill, type Markup, markup } from './markup.ts';
import { operationArticle } from './reference-operation.ts';
import { codeFigure, heading, inline, paragraphs, type Row, table } from './reference-parts.ts';
import { errorTable, recordTable } from './reference-tables.ts';
import { readWeb } from './web-files.ts';

/** Names of users that examples link to. */
type Names = Readonly<Record<'microblog' | 'portfolio', readonly string[]>>;

interface Section {
  readonly id: string;
  readonly title: string;
  readonly body: Markup;
  /** The parts that the table of contents lists below it. */
  readonly parts: readonly (readonly [id: string, title: string])[];
}

/** Renders the page for a document, with users to begin with. */
export type ReferencePage = (document: object, users: Names) => string;

export function createReferencePage(config: Config): ReferencePage {
  const look = createLook(config);
  const mounts = listMounts(config);
  const address = `${serverUrl(config)}/`;
  return (document, users) => {
    const api = document as ApiDocument;
    const operations = listOperations(api);
    const sections = [
      overview(api, address),
      ...api.tags.map((tag) => tagSection(tag, operations)),
      recordSection(api),
      { id: 'errors', title: 'Errors', body: errorTable(operations), parts: [] },
      sharing(config, mounts, users),
    ];
    return fill(readWeb('docs.html'), {
      title: markup`<title>API reference · ${look.name}</title>`,
      icon: look.icon(''),
      brand: look.brand(
        '',
        'docs',
        markup`<h1 class="brand-name">${look.name} <span>API reference</span></h1>`,
      ),
      explorer: config.explorer ? markup`<a href="./">Explorer</a>` : undefined,
      contents: markup`${sections.map(contentsEntry)}`,
      main: markup`<main id="main" tabindex="-1" data-address="${address}">
${sections.map(({ id, title, body }) => markup`<section id="${id}" aria-labelledby="${id}-title">${heading(2, id, title)}\n${body}</section>\n`)}</main>`,
      footer: look.footer(),
    });
  };
}

const contentsEntry = ({ id, title, parts }: Section) =>
  markup`<li><a href="#${id}">${title}</a>${parts.length > 0 && markup`<ul>${parts.map(([part, name]) => markup`<li><a href="#${part}">${name}</a></li>`)}</ul>`}</li>\n`;

const overview = ({ info }: ApiDocument, address: string): Section => ({
  id: 'overview',
  title: 'Overview',
  body: markup`<p class="lead">${info.summary}</p>
${paragraphs(info.description)}
<h3>TypeScript types</h3>
${codeFigure('Shell', 'the command that generates types', `npx openapi-typescript ${address}openapi.json -o vitrine.d.ts`)}
<p class="version">Version ${info.version} · ${info.license.name} licence</p>`,
  parts: [],
});

function tagSection(
  { name, description }: ApiDocument['tags'][number],
  all: readonly ApiOperation[],
): Section {
  const operations = all.filter(({ tags }) => tags.includes(name));
  return {
    id: name.toLowerCase().replaceAll(' ', '-'),
    title: name,
    body: markup`${paragraphs(description)}${operations.map(operationArticle)}`,
    parts: operations.map(({ operationId, summary }) => [operationId, summary]),
  };
}

function recordSection({ components }: ApiDocument): Section {
  const records = Object.entries(components.schemas);
  return {
    id: 'records',
    title: 'Records',
    body: markup`<p>Every record has all of its members, in this order, and every value is a string.</p>
${records.map(
  ([
    name,
    { description = '', properties = {} },
  ]) => markup`<article class="record" id="record-${name}" aria-labelledby="record-${name}-title">
${heading(3, `record-${name}`, name)}
<p>${inline(description)}</p>
${recordTable(name, properties)}</article>
`,
)}`,
    parts: records.map(([name]) => [`record-${name}`, name]),
  };
}

/** What shows people outside of the API. */
function sharing(config: Config, mounts: readonly Mount[], users: Names): Section {
  const rows = mounts.flatMap(({ variant, base }): Row[] => {
    const root = base.origin === undefined ? '' : `${base.origin}/`;
    const user = users[VARIANTS[variant].family][0];
    const place = (kind: string, ending = '') => {
      const path = `${kind}/${variant}/${user === undefined ? 'USER' : encodeURIComponent(user)}${ending}`;
      return user === undefined
        ? markup`<code>${root}${path}</code>`
        : markup`<a href="${root}${path}">${path}</a>`;
    };
    const kind = `${VARIANTS[variant].family}, variant ${variant.toUpperCase()}`;
    return [
      ...(config.explorer ? [[markup`Page`, markup`${place('people')}`] as const] : []),
      [markup`Card as an image`, place('card', '.svg')],
      [markup`Feeds`, markup`Atom ${place('feeds', '.atom')}, JSON Feed ${place('feeds', '.json')}`],
    ].map(([name, where]): Row => [markup`${name}<div class="note">${kind}</div>`, where as Markup]);
  });
  return {
    id: 'sharing',
    title: 'Pages, cards and feeds',
    body: markup`<p>Each user is also shown outside of the API. All of this is rendered by the server; the card is one script, <a href="embed.js">embed.js</a>, and one element for any page.</p>
<article class="record" aria-label="Addresses">${table('Addresses of a user', ['What', 'Address'], rows)}</article>`,
    parts: [],
  };
}
