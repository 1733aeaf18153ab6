// What the API reference says: the OpenAPI document as text and tables, which become a page and Markdown.
import {
  type ApiDocument,
  type ApiOperation,
  type ApiResponse,
  type ApiSchema,
  isFailure,
  listOperations,
  schemaNames,
} from './api-document.ts';

/** Texts are Markdown: `code`, **bold** and links. */
export interface ReferencePart {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly rows?: readonly ReferenceRow[];
  readonly operation?: ApiOperation;
}

export interface ReferenceRow {
  readonly name: string;
  readonly note: string;
  readonly text: string;
  /** Where it can be linked to. */
  readonly id?: string;
}

export interface ReferenceSection extends ReferencePart {
  readonly parts: readonly ReferencePart[];
}

/** `address`: where the server is. */
export function listSections(api: ApiDocument, address: string): ReferenceSection[] {
  const operations = listOperations(api);
  return [
    { id: 'overview', title: 'Overview', text: describeApi(api, address), parts: [] },
    ...api.tags.map(({ name, description }) => ({
      id: name.toLowerCase().replaceAll(' ', '-'),
      title: name,
      text: description,
      parts: operations.filter(({ tags }) => tags.includes(name)).map(operationPart),
    })),
    {
      id: 'records',
      title: 'Records',
      text: 'Every record has all of its members, in this order, and every value is a string.',
      parts: Object.entries(api.components.schemas).map(recordPart),
    },
    { id: 'errors', title: 'Errors', text: ERRORS, rows: errorRows(operations), parts: [] },
  ];
}

const ERRORS =
  'Each error is JSON with its `code`. [API errors](docs/errors#every-code) says what each code means, and what to do.';

const describeApi = ({ info }: ApiDocument, address: string) => `${info.summary}

${info.description}

[Using the API](docs/api) says how to read the strings. [Recipes](docs/recipes) have code that runs, and show users outside of the API, on pages, cards and feeds. [API errors](docs/errors) says what to do about each error.

**TypeScript** types of all bodies are in the package as \`vitrine/types\`. Without the package, use \`curl -o vitrine.d.ts ${address}types.d.ts\`

Version ${info.version} · ${info.license.name} licence · [This reference and its guides as one text](docs.md)`;

const operationPart = (operation: ApiOperation): ReferencePart => ({
  id: operation.operationId,
  title: operation.summary,
  text: operation.description,
  rows: operation.parameters.map((parameter) => {
    const { name, in: place, required, description = '', schema } = parameter;
    const lead = schema.enum === undefined ? 'For example' : 'Only';
    const values = (schema.enum ?? exampleValues(parameter)).map((value) => ` \`${value}\``);
    return {
      name,
      note: `${place}, ${required ? 'required' : 'optional'}`,
      text: values.length === 0 ? description : `${description} ${lead}${values.join('')}`,
    };
  }),
  operation,
});

/** What a response is, in sentences. */
export function describeResponse({ description, headers = {}, content = {} }: ApiResponse): string[] {
  const { schema, examples = {} } = content['application/json'] ?? {};
  const names = schema === undefined ? [] : schemaNames(schema);
  const codes = names.includes('ApiError') ? Object.keys(examples) : [];
  return [
    description,
    ...(codes.length > 0
      ? [`Codes: ${codes.map((code) => `[\`${code}\`](#error-${code})`).join(' ')}.`]
      : []),
    ...(names.length > 0 ? [`Body: ${names.map(recordLink).join(' or ')}.`] : []),
    `Headers: ${Object.keys(headers).join(', ')}.`,
  ];
}

export const exampleValues = ({ examples = {} }: ApiOperation['parameters'][number]) =>
  Object.values(examples).map(({ value }) => String(value));

const recordPart = ([name, { description = '', properties = {} }]: [string, ApiSchema]): ReferencePart => ({
  id: `record-${name}`,
  title: name,
  text: description,
  rows: Object.entries(properties).map(([member, schema]) => ({
    name: member,
    note: describeForm(schema),
    text:
      schema.items === undefined
        ? (schema.description ?? '')
        : `Each a ${schemaNames(schema.items).map(recordLink).join(' or ')}, at most ${schema.maxItems}.`,
    id: `${name}.${member}`,
  })),
});

const recordLink = (name: string) => `[${name}](#record-${name})`;

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

/** Each error code once, from all operations. */
function errorRows(operations: readonly ApiOperation[]): ReferenceRow[] {
  const rows = operations
    .flatMap(({ responses }) => responses.filter(([status]) => isFailure(status)))
    .sort(([one], [other]) => one.localeCompare(other))
    .flatMap(([status, { content }]) =>
      Object.entries(content?.['application/json']?.examples ?? {}).map(
        ([name, { summary = '' }]) =>
          [name, { name, note: status, text: summary, id: `error-${name}` }] as const,
      ),
    );
  return [...new Map(rows).values()];
}
