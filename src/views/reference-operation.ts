// One operation of the reference: its tables, its examples, and the form that a script sends.
import type { ApiExample, ApiOperation, ApiParameter } from './api-document.ts';
import { type Markup, markup } from './markup.ts';
import { heading, paragraphs } from './reference-parts.ts';
import { parameterTable, responseTables } from './reference-tables.ts';

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
