// One operation of the reference: its tables, its examples, and the form that a script sends.

import { buildRequest } from '../web/explorer/snippets.js';
import {
  type ApiExample,
  type ApiOperation,
  type ApiParameter,
  type ApiSchema,
  isFailure,
  refName,
} from './api-document.ts';
import { type Markup, markup } from './markup.ts';
import {
  codeTabs,
  heading,
  inline,
  note,
  paragraphs,
  spaced,
  type TableRow,
  table,
  tabs,
} from './reference-layout.ts';

/** `address`: where the server is. */
export const operationArticle = (operation: ApiOperation, address: string): Markup => {
  const { operationId: id, path, summary, description, parameters } = operation;
  return markup`<article class="operation" id="${id}" aria-labelledby="${id}-title">
${heading(3, id, summary)}
<div class="beside">
<div>
<p class="route"><b>GET</b> <code>${breakable(path)}</code></p>
${paragraphs(description)}
${parameterTable(parameters)}
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
};

function parameterTable(parameters: readonly ApiParameter[]): Markup {
  const rows = parameters.map((parameter): TableRow => {
    const { name, in: place, required, description = '', schema } = parameter;
    const values = schema.enum ?? exampleValues(parameter);
    const shown = spaced(values.map((value) => markup`<code dir="auto">${value}</code>`));
    const lead = schema.enum === undefined ? 'For example ' : 'Only ';
    return [
      markup`<code>${name}</code>${note(markup`${place}, ${required ? 'required' : 'optional'}`)}`,
      markup`${inline(description)}${shown.length > 0 && note(markup`${lead}${shown}`)}`,
    ];
  });
  return table('Parameters', ['Name', 'Meaning'], rows);
}

const schemaNames = ({ $ref, oneOf = [] }: ApiSchema): string[] =>
  $ref === undefined ? oneOf.flatMap(schemaNames) : [refName($ref)];

/** Links to the schemas of a body. */
export const schemaLinks = (schema: ApiSchema): Markup[] =>
  schemaNames(schema).map((name) => markup`<a href="#record-${name}">${name}</a>`);

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
  const { description, headers = {}, content = {} } = response;
  const { schema, examples = {} } = content['application/json'] ?? {};
  const shown = Object.entries(examples);
  const codes = shown.map(([code]) => markup`<a href="#error-${code}"><code>${code}</code></a>`);
  return markup`<div><p><span class="dot ${chooseTone(status)}"></span>${inline(description)}</p>
${isFailure(status) && note(markup`Codes: ${spaced(codes)}`)}
${schema && note(markup`Body: ${spaced(schemaLinks(schema))}`)}
${note(markup`Headers: ${Object.keys(headers).join(', ')}`)}
${shown.slice(0, isFailure(status) ? 1 : shown.length).map(([, example], at) => exampleFold(id, example, at === 0))}</div>
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

const exampleValues = ({ examples = {} }: ApiParameter) =>
  Object.values(examples).map(({ value }) => String(value));

/** `docs/try-it.js` reads the request from the attributes. */
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
