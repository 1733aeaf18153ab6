// Tables of parameters, responses, records and errors.
import {
  type ApiOperation,
  type ApiParameter,
  type ApiResponse,
  type ApiSchema,
  refName,
} from './api-document.ts';
import { type Markup, markup } from './markup.ts';
import { inline, note, spaced, type TableRow, table } from './reference-parts.ts';

export function parameterTable(parameters: readonly ApiParameter[]): Markup {
  const rows = parameters.map(
    ({ name, in: place, required, description = '', schema, examples = {} }): TableRow => {
      const { minLength, maxLength } = schema;
      const bounds = maxLength === undefined ? '' : `, ${minLength} to ${maxLength} characters`;
      const values = schema.enum ?? Object.values(examples).map(({ value }) => String(value));
      const shown = spaced(values.map((value) => markup`<code dir="auto">${value}</code>`));
      const lead = schema.enum === undefined ? 'For example ' : 'Only ';
      return [
        markup`<code>${name}</code>${note(markup`${place}, ${required ? 'required' : 'optional'}${bounds}`)}`,
        markup`${inline(description)}${shown.length > 0 && note(markup`${lead}${shown}`)}`,
      ];
    },
  );
  return table('Parameters', ['Name', 'Meaning'], rows);
}

type Responses = ApiOperation['responses'];

const isFailure = (status: string) => status >= '400';

export function responseTables(responses: Responses): Markup {
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
function schemaLinks({ $ref, oneOf = [] }: ApiSchema): Markup[] {
  if ($ref === undefined) return oneOf.flatMap(schemaLinks);
  return [markup`<a href="#record-${refName($ref)}">${refName($ref)}</a>`];
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

export function recordTable(name: string, properties: Readonly<Record<string, ApiSchema>>): Markup {
  const rows = Object.entries(properties).map(
    ([member, schema]): TableRow => [
      markup`<code>${member}</code>${note(markup`${describeForm(schema)}`)}`,
      schema.items === undefined
        ? inline(schema.description ?? '')
        : markup`Each a ${schemaLinks(schema.items)}, at most ${schema.maxItems}.`,
    ],
  );
  return table(`Members of ${name}`, ['Member', 'Meaning'], rows);
}

/** Each error code once, from all operations. */
export function errorTable(operations: readonly ApiOperation[]): Markup {
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
    [markup`<code>${code}</code>${note(markup`${status}`)}`, inline(summary)],
  ]);
}
