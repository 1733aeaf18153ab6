// The API reference: the OpenAPI document as a page that is whole without scripts.
import type { Config } from '../config/config.ts';
import { serverUrl } from '../config/media.ts';
import {
  type ApiDocument,
  type ApiOperation,
  type ApiResponse,
  type ApiSchema,
  isFailure,
  listOperations,
} from './api-document.ts';
import { type Markup, markup } from './markup.ts';
import {
  codeFigure,
  heading,
  inline,
  layout,
  note,
  paragraphs,
  type Section,
  type TableRow,
  table,
} from './reference-layout.ts';
import { operationArticle, schemaLinks } from './reference-operation.ts';

/** Renders the page for a document. */
type ReferencePage = (document: object) => string;

export function createReferencePage(config: Config): ReferencePage {
  const address = `${serverUrl(config)}/`;
  return (document) => {
    const api = document as ApiDocument;
    const operations = listOperations(api);
    const sections = [
      overview(api, address),
      ...api.tags.map((tag) => tagSection(tag, operations, address)),
      recordSection(api),
      { id: 'errors', title: 'Errors', body: errorTable(operations), parts: [] },
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
<a href="docs/recipes">Recipes</a> have code that runs, and what shows users outside of the API: pages, cards, feeds.</p>
<h3>TypeScript types</h3>
${codeFigure('Shell', 'the command that generates types', `npx openapi-typescript ${address}openapi.json -o vitrine.d.ts`)}
<p class="version">Version ${info.version} · ${info.license.name} licence</p>`,
  parts: [],
});

function tagSection(
  { name, description }: ApiDocument['tags'][number],
  all: readonly ApiOperation[],
  address: string,
): Section {
  const operations = all.filter(({ tags }) => tags.includes(name));
  return {
    id: name.toLowerCase().replaceAll(' ', '-'),
    title: name,
    body: markup`${paragraphs(description)}${operations.map((operation) => operationArticle(operation, address))}`,
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

/** The format of a member's text, in a word. */
const FORMS: Readonly<Record<string, string>> = {
  text: 'text',
  list: 'comma-separated list',
  name: 'user name',
  count: 'digits',
  flag: 'flag, digits',
  id: 'identifier, digits',
  url: 'absolute URL',
  'date-time': 'YYYY-MM-DD HH:MM:SS',
  token: '40 hexadecimal characters',
};

function describeForm(schema: ApiSchema): string {
  if (schema.type === 'array') return 'list';
  return schema.enum === undefined ? (FORMS[schema['x-form'] ?? 'text'] ?? 'text') : 'one of the codes below';
}

function recordTable(name: string, properties: Readonly<Record<string, ApiSchema>>): Markup {
  const rows = Object.entries(properties).map(
    ([member, schema]): TableRow => [
      markup`<code>${member}</code>${note(markup`${describeForm(schema)}`)}`,
      schema.items === undefined
        ? inline(schema.description ?? '')
        : markup`Each a ${schemaLinks(schema.items)}, at most ${schema.maxItems}.`,
      `${name}.${member}`,
    ],
  );
  return table(`Members of ${name}`, ['Member', 'Meaning'], rows);
}

/** Each error code once, from all operations. */
function errorTable(operations: readonly ApiOperation[]): Markup {
  const failures = operations
    .flatMap(({ responses }) => responses.filter(([status]) => isFailure(status)))
    .sort(([one], [other]) => one.localeCompare(other));
  const rows = new Map(failures.flatMap(([status, response]) => errorRows(status, response)));
  return table('Error codes', ['Code and status', 'Message'], [...rows.values()]);
}

function errorRows(status: string, { content }: ApiResponse): (readonly [code: string, TableRow])[] {
  const examples = content?.['application/json']?.examples ?? {};
  return Object.entries(examples).map(([code, { summary = '' }]) => [
    code,
    [markup`<code>${code}</code>${note(markup`${status}`)}`, inline(summary), `error-${code}`],
  ]);
}
