// One operation of the reference: its tables, its examples, and the form that a script sends.
import {
  type ApiExample,
  type ApiOperation,
  type ApiParameter,
  type ApiSchema,
  isFailure,
  refName,
} from './api-document.ts';
import { type Markup, markup } from './markup.ts';
import { heading, inline, note, paragraphs, spaced, type TableRow, table } from './reference-layout.ts';

export const operationArticle = (operation: ApiOperation): Markup => {
  const { operationId: id, path, summary, description, parameters, responses } = operation;
  return markup`<article class="operation" id="${id}" aria-labelledby="${id}-title">
${heading(3, id, summary)}
<div class="beside">
<div>
<p class="route"><b>GET</b> <code>${breakable(path)}</code></p>
${paragraphs(description)}
${parameterTable(parameters)}
${responseTables(responses)}
${tryForm(operation)}
</div>
${exampleList(operation)}
</div>
</article>
`;
};

function parameterTable(parameters: readonly ApiParameter[]): Markup {
  const rows = parameters.map(
    ({ name, in: place, required, description = '', schema, examples = {} }): TableRow => {
      const values = schema.enum ?? Object.values(examples).map(({ value }) => String(value));
      const shown = spaced(values.map((value) => markup`<code dir="auto">${value}</code>`));
      const lead = schema.enum === undefined ? 'For example ' : 'Only ';
      return [
        markup`<code>${name}</code>${note(markup`${place}, ${required ? 'required' : 'optional'}`)}`,
        markup`${inline(description)}${shown.length > 0 && note(markup`${lead}${shown}`)}`,
      ];
    },
  );
  return table('Parameters', ['Name', 'Meaning'], rows);
}

type Responses = ApiOperation['responses'];

function responseTables(responses: Responses): Markup {
  const failures = responses.filter(([status]) => isFailure(status));
  const successes = responses.filter(([status]) => !isFailure(status));
  return markup`${responseTable('Responses', successes)}
<details class="fold"><summary>Errors: ${failures.map(([status]) => status).join(', ')}</summary>${responseTable('Error responses', failures)}</details>`;
}

function responseTable(caption: string, responses: Responses): Markup {
  const rows = responses.map(([status, { description, headers = {}, content = {} }]): TableRow => {
    const body = content['application/json'];
    return [
      markup`<span class="dot ${chooseTone(status)}"></span><code>${status}</code>`,
      markup`${inline(description)}${body && note(markup`Body: ${spaced(schemaLinks(body.schema))}`)}${note(markup`Headers: ${Object.keys(headers).join(', ')}`)}`,
    ];
  });
  return table(caption, ['Status', 'Meaning'], rows);
}

function chooseTone(status: string): string {
  if (!isFailure(status)) return 'good';
  return status < '500' ? 'poor' : 'bad';
}

/** Links to the schemas of a body. */
export function schemaLinks({ $ref, oneOf = [] }: ApiSchema): Markup[] {
  if ($ref === undefined) return oneOf.flatMap(schemaLinks);
  return [markup`<a href="#record-${refName($ref)}">${refName($ref)}</a>`];
}

/** Text that may wrap after the separators of a path. */
const breakable = (path: string) =>
  path.split(/(?<=[/?&=])(?![/?&=])/).map((part, index) => [index > 0 && markup`<wbr>`, part]);

/** The bodies of a success; the first one is open. */
function exampleList({ operationId, responses }: ApiOperation): Markup | undefined {
  const [, success] = responses.find(([status]) => status === '200') ?? [];
  const examples = Object.values(success?.content?.['application/json']?.examples ?? {});
  if (examples.length === 0) return undefined;
  return markup`<div class="examples">${examples.map((example, index) => exampleFold(operationId, example, index === 0))}</div>`;
}

const exampleFold = (operationId: string, { summary = '', value }: ApiExample, isOpen: boolean) =>
  markup`<details class="fold"${isOpen && markup` open`}><summary>Example: ${summary}</summary>
<pre tabindex="0" role="region" aria-label="Example of ${operationId}: ${summary}"><code>${colouredJson(value)}</code></pre></details>
`;

/** JSON text with its names and strings as elements. */
function colouredJson(value: unknown): Markup[] {
  const parts = JSON.stringify(value, null, 2).match(/"(?:[^"\\]|\\.)*":?|[^"]+/g) ?? [];
  return parts.map((part) => {
    if (!part.startsWith('"')) return markup`${part}`;
    return markup`<span class="${part.endsWith(':') ? 'key' : 'string'}">${part}</span>`;
  });
}

/** `docs/try-it.js` reads the request from the attributes. */
const tryForm = ({ operationId, path, server, parameters }: ApiOperation) =>
  markup`<form class="try" aria-label="Try GET ${path}" data-path="${path}" data-server="${server}" autocomplete="off" novalidate>
<h4>Try it</h4>
${parameters.map((parameter) => field(operationId, parameter))}
<button type="submit">Send</button>
<p class="visually-hidden" role="status"></p>
<div class="result"></div>
</form>`;

function field(
  operationId: string,
  { name, in: place, required, schema, examples = {} }: ApiParameter,
): Markup {
  const id = `${operationId}-${name}`;
  const label = markup`<label for="${id}"><code>${name}</code>${!required && markup`<span class="note">optional</span>`}</label>`;
  if (schema.enum !== undefined)
    return markup`<div class="field">${label}<select id="${id}" name="${name}" data-in="${place}"><option value="">(absent)</option>${schema.enum.map((value) => markup`<option>${value}</option>`)}</select></div>\n`;
  const values = Object.values(examples).map(({ value }) => String(value));
  const list =
    values.length > 0 &&
    markup`<datalist id="${id}-examples">${values.map((value) => markup`<option value="${value}"></option>`)}</datalist>`;
  return markup`<div class="field">${label}<input id="${id}" name="${name}" data-in="${place}"${required && markup` required value="${values[0] ?? ''}"`}${list && markup` list="${id}-examples"`} dir="auto" autocapitalize="none" spellcheck="false">${list}</div>\n`;
}
