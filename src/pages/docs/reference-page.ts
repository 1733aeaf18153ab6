// The API reference as a page that is whole without scripts.

import { serverUrl } from '../../config/addresses.ts';
import type { Config } from '../../config/settings.ts';
import { type Markup, markup } from '../markup.ts';
import { buildRequest } from '../web/explorer/snippets.js';
import type { ApiDocument } from './api-document.ts';
import {
  type ApiExample,
  type ApiOperation,
  type ApiParameter,
  isFailure,
  schemaNames,
} from './api-document.ts';
import {
  codeTabs,
  heading,
  inline,
  layout,
  memberTable,
  note,
  paragraphs,
  type Section,
  tabs,
} from './reference-layout.ts';
import {
  describeResponse,
  exampleValues,
  listSections,
  type ReferencePart,
  type ReferenceSection,
} from './reference-parts.ts';

/** Renders the page for a document. */
export function createReferencePage(config: Config): (document: ApiDocument) => string {
  const address = `${serverUrl(config)}/`;

  const toSection = ({ id, title, text, rows, parts }: ReferenceSection): Section => ({
    id,
    title,
    body: markup`${paragraphs(text)}${rows && memberTable(title, rows)}${parts.map(toArticle)}`,
    parts: parts.map((part) => [part.id, part.title]),
  });

  function toArticle(part: ReferencePart): Markup {
    const { id, title, text, rows = [], operation } = part;
    if (operation !== undefined) return operationArticle(part, operation, address);
    return markup`<article class="record" id="${id}" aria-labelledby="${id}-title">
${heading(3, id, title)}
${paragraphs(text)}${memberTable(`Members of ${title}`, rows)}</article>
`;
  }

  return (document) => {
    const sections = listSections(document, address).map(toSection);
    return layout(config, { root: '', title: 'API reference', lead: markup``, sections });
  };
}

// One operation of the reference: its tables, its examples, and the form that a script sends.

/** `address`: where the server is. */
function operationArticle(part: ReferencePart, operation: ApiOperation, address: string): Markup {
  const { id, title, text, rows = [] } = part;
  const { path } = operation;
  return markup`<article class="operation" id="${id}" aria-labelledby="${id}-title">
${heading(3, id, title)}
<div class="beside">
<div>
<p class="route"><b>GET</b> <code>${breakable(path)}</code></p>
${paragraphs(text)}
${memberTable('Parameters', rows)}
</div>
<div class="exchange">
<h4>Request</h4>
${tryForm(operation)}
${codeTabs(id, `GET ${path}`, requestOf(operation, address))}
<h4>Response</h4>
${responseTabs(operation)}
</div>
</div>
</article>
`;
}

/** Text that may wrap after the separators of a path. */
const breakable = (path: string) =>
  path.split(/(?<=[/?&=])(?![/?&=])/).map((part, index) => [index > 0 && markup`<wbr>`, part]);

/** What each status means, with examples of its body. */
const responseTabs = ({ operationId, responses }: ApiOperation) =>
  markup`<fieldset class="tabs segments small statuses">${tabs(
    `${operationId}-status`,
    'Response',
    responses.map((response) => [response[0], responsePanel(operationId, response)]),
  )}</fieldset>`;

function responsePanel(id: string, [status, response]: ApiOperation['responses'][number]): Markup {
  const [description = '', ...more] = describeResponse(response);
  const all = Object.values(response.content?.['application/json']?.examples ?? {});
  const examples = isFailure(status) ? all.slice(0, 1) : all;
  return markup`<div><p><span class="dot ${chooseTone(status)}"></span>${inline(description)}</p>
${more.map((sentence) => note(inline(sentence)))}
${examples.map((example, at) => exampleFold(id, example, at === 0))}</div>
`;
}

function chooseTone(status: string): string {
  if (!isFailure(status)) return 'good';
  return status < '500' ? 'poor' : 'bad';
}

const exampleFold = (operationId: string, { summary = '', value }: ApiExample, isOpen: boolean) =>
  markup`<details class="fold"${isOpen && markup` open`}><summary>Example: ${summary}</summary>
<pre tabindex="0" role="region" aria-label="Example of ${operationId}: ${summary}"><code>${colouredJson(value)}</code></pre></details>
`;

/** JSON text with its names and strings as elements, of short names: there are thousands. */
function colouredJson(value: unknown): Markup[] {
  const parts = JSON.stringify(value, null, 2).match(/"(?:[^"\\]|\\.)*":?|[^"]+/g) ?? [];
  return parts.map((part) => {
    if (!part.startsWith('"')) return markup`${part}`;
    return part.endsWith(':') ? markup`<b>${part}</b>` : markup`<i>${part}</i>`;
  });
}

/** The request with the first example of each parameter that has to be there. */
const requestOf = (operation: ApiOperation, address: string) =>
  buildRequest(
    { ...operation, types: bodyTypes(operation) },
    operation.parameters
      .filter(({ required }) => required)
      .map((parameter) => ({ ...parameter, value: exampleValues(parameter)[0] ?? '' })),
    address,
  );

const bodyTypes = ({ responses }: ApiOperation) =>
  schemaNames(responses[0]?.[1].content?.['application/json']?.schema ?? {});

/** `/docs/try-it.js` reads the request from the attributes. */
const tryForm = (operation: ApiOperation) => {
  const { operationId, path, server, parameters } = operation;
  return markup`<form class="try" aria-label="Try GET ${path}" data-path="${path}" data-server="${server}" data-types="${bodyTypes(operation).join(' ')}" autocomplete="off" novalidate>
${parameters.map((parameter) => field(operationId, parameter))}
<button type="submit">Send</button>
<p class="visually-hidden" role="status"></p>
</form>`;
};

function field(operationId: string, parameter: ApiParameter): Markup {
  const { name, in: place, required, schema } = parameter;
  const id = `${operationId}-${name}`;
  const label = markup`<label for="${id}"><code>${name}</code>${!required && markup`<span class="note">optional</span>`}</label>`;
  if (schema.enum !== undefined)
    return markup`<div class="field">${label}<select id="${id}" name="${name}" data-in="${place}"><option value="">(absent)</option>${schema.enum.map((value) => markup`<option>${value}</option>`)}</select></div>\n`;
  const values = exampleValues(parameter);
  const list =
    values.length > 0 &&
    markup`<datalist id="${id}-examples">${values.map((value) => markup`<option value="${value}"></option>`)}</datalist>`;
  return markup`<div class="field">${label}<input id="${id}" name="${name}" data-in="${place}"${required && markup` required value="${values[0] ?? ''}"`}${list && markup` list="${id}-examples"`} dir="auto" autocapitalize="none" spellcheck="false">${list}</div>\n`;
}
