// The API reference: the OpenAPI document as a page that is whole without scripts.
import type { Mount } from '../config/clashes.ts';
import { type Config, listMounts } from '../config/config.ts';
import { serverUrl } from '../config/media.ts';
import { VARIANTS } from '../variants.ts';
import { type ApiDocument, type ApiOperation, listOperations } from './api-document.ts';
import { type Markup, markup } from './markup.ts';
import { layout, type Section } from './reference-layout.ts';
import { operationArticle } from './reference-operation.ts';
import { codeFigure, heading, inline, paragraphs, type TableRow, table } from './reference-parts.ts';
import { errorTable, recordTable } from './reference-tables.ts';

/** Names of users that examples link to. */
type Names = Readonly<Record<'microblog' | 'portfolio', readonly string[]>>;

/** Renders the page for a document, with users to begin with. */
type ReferencePage = (document: object, users: Names) => string;

export function createReferencePage(config: Config): ReferencePage {
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
    return layout(config, { root: '', title: 'API reference', lead: markup``, sections });
  };
}

const overview = ({ info }: ApiDocument, address: string): Section => ({
  id: 'overview',
  title: 'Overview',
  body: markup`<p class="lead">${info.summary}</p>
${paragraphs(info.description)}
<p><a href="docs/api">Using the API</a> says how to read the strings and what to do about each error;
<a href="docs/recipes">Recipes</a> have code that runs.</p>
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
  const rows = mounts.flatMap(({ variant, base }): TableRow[] => {
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
    ].map(([name, where]): TableRow => [markup`${name}<div class="note">${kind}</div>`, where as Markup]);
  });
  return {
    id: 'sharing',
    title: 'Pages, cards and feeds',
    body: markup`<p>Each user is also shown outside of the API. All of this is rendered by the server; the card is one script, <a href="embed.js">embed.js</a>, and <a href="docs/recipes#a-card-on-any-page">one element</a> for any page.</p>
<article class="record" aria-label="Addresses">${table('Addresses of a user', ['What', 'Address'], rows)}</article>`,
    parts: [],
  };
}
