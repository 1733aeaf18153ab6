// @ts-check
// Tables of parameters, responses, records and errors. Two columns each, so that they fit on a phone.
import { el } from '../explorer/dom.js';
import { drawJson } from '../explorer/json.js';
import { inline } from './markdown.js';
import { nameIn } from './openapi.js';

/** @typedef {import('./openapi.js').Schema} Schema */
/** @typedef {import('./openapi.js').Response} Response */
/** @typedef {(Node | string)[]} Cell */

/** @param {string} caption @param {[string, string]} heads @param {Array<[Cell, Cell]>} rows */
function table(caption, heads, rows) {
  const head = el('tr', {}, ...heads.map((name) => el('th', { scope: 'col' }, name)));
  const body = rows.map(([name, words]) =>
    el('tr', {}, el('th', { scope: 'row' }, ...name), el('td', {}, ...words)),
  );
  return el('table', {}, el('caption', {}, caption), el('thead', {}, head), el('tbody', {}, ...body));
}

/** A smaller, quieter line. @param {Cell} words */
const note = (...words) => el('div', { class: 'note' }, ...words);

/** @param {Node[]} nodes @returns {Cell} */
const spaced = (nodes) => nodes.flatMap((node, index) => (index === 0 ? [node] : [' ', node]));

/** @param {import('./openapi.js').Parameter[]} parameters */
export function drawParameters(parameters) {
  const rows = parameters.map(({ name, in: place, required, description = '', schema, examples = {} }) => {
    const bounds =
      schema.maxLength === undefined ? '' : `, ${schema.minLength} to ${schema.maxLength} characters`;
    const values = schema.enum ?? Object.values(examples).map(({ value }) => String(value));
    const shown = spaced(values.map((value) => el('code', { dir: 'auto' }, value)));
    const lead = schema.enum === undefined ? 'For example ' : 'Only ';
    return /** @type {[Cell, Cell]} */ ([
      [el('code', {}, name), note(`${place}, ${required ? 'required' : 'optional'}${bounds}`)],
      [...inline(description), ...(shown.length > 0 ? [note(lead, ...shown)] : [])],
    ]);
  });
  return table('Parameters', ['Name', 'Meaning'], rows);
}

/** @param {Record<string, Response>} responses */
export function drawResponses(responses) {
  const all = Object.entries(responses);
  const failures = all.filter(([status]) => isFailure(status));
  const statuses = failures.map(([status]) => status).join(', ');
  return el(
    'div',
    {},
    responseTable(
      'Responses',
      all.filter(([status]) => !isFailure(status)),
    ),
    el(
      'details',
      { class: 'fold' },
      el('summary', {}, `Errors: ${statuses}`),
      responseTable('Error responses', failures),
    ),
  );
}

/** @param {string} status */
const isFailure = (status) => status >= '400';

/** @param {string} caption @param {Array<[string, Response]>} responses */
function responseTable(caption, responses) {
  const rows = responses.map(([status, { description, headers = {}, content = {} }]) => {
    const body = content['application/json'];
    return /** @type {[Cell, Cell]} */ ([
      [el('span', { class: `dot ${tone(status)}` }), el('code', {}, status)],
      [
        ...inline(description),
        ...(body === undefined ? [] : [note('Body: ', ...spaced(bodies(body.schema)))]),
        note(`Headers: ${Object.keys(headers).join(', ')}`),
      ],
    ]);
  });
  return table(caption, ['Status', 'Meaning'], rows);
}

/** @param {string} status */
export function tone(status) {
  if (!isFailure(status)) return 'good';
  return status < '500' ? 'poor' : 'bad';
}

/** Links to the schemas of a body. @param {Schema} schema @returns {Node[]} */
function bodies({ $ref, oneOf = [] }) {
  if ($ref === undefined) return oneOf.flatMap(bodies);
  const name = nameIn($ref);
  return [el('a', { href: `#record-${name}` }, name)];
}

/** The example bodies of a success; the first one is open. @param {string} operationId @param {Record<string, Response>} responses */
export function drawExamples(operationId, responses) {
  const examples = Object.values(responses[200]?.content?.['application/json']?.examples ?? {});
  const drawn = examples.map(({ summary = 'Example', value }, index) =>
    el(
      'details',
      { class: 'fold', open: index === 0 },
      el('summary', {}, `Example: ${summary}`),
      drawBody(`Example of ${operationId}: ${summary}`, value),
    ),
  );
  return el('div', { class: 'examples' }, ...drawn);
}

/** A JSON tree with its own accessible name. @param {string} name @param {unknown} value */
export function drawBody(name, value) {
  const drawn = drawJson(value);
  drawn.setAttribute('aria-label', name);
  return drawn;
}

/** The format of a member's text, in a word. @type {Record<string, string>} */
const FORMS = {
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

/** @param {Schema} schema */
function formOf(schema) {
  if (schema.type === 'array') return 'list';
  return schema.enum === undefined ? (FORMS[schema['x-form'] ?? 'text'] ?? 'text') : 'one of the codes below';
}

/** @param {string} name @param {Schema} schema */
export function drawRecord(name, { description = '', properties = {} }) {
  const rows = Object.entries(properties).map(([member, schema]) => {
    const list =
      schema.items === undefined
        ? undefined
        : ['Each a ', ...bodies(schema.items), `, at most ${schema.maxItems}.`];
    return /** @type {[Cell, Cell]} */ ([
      [el('code', {}, member), note(formOf(schema))],
      list ?? inline(schema.description ?? ''),
    ]);
  });
  return el(
    'article',
    { class: 'record', id: `record-${name}`, 'aria-labelledby': `record-${name}-title` },
    el('h3', { id: `record-${name}-title` }, name),
    el('p', {}, ...inline(description)),
    table(`Members of ${name}`, ['Member', 'Meaning'], rows),
  );
}

/** Each error code once, from all operations. @param {Array<{ responses: Record<string, Response> }>} operations */
export function drawErrors(operations) {
  /** @type {Map<string, [Cell, Cell]>} */
  const rows = new Map();
  const failures = operations
    .flatMap(({ responses }) => Object.entries(responses))
    .filter(([status]) => isFailure(status));
  for (const [status, { content }] of failures.sort(([one], [two]) => one.localeCompare(two))) {
    for (const [code, { summary = '' }] of Object.entries(content?.['application/json']?.examples ?? {}))
      rows.set(code, [[el('code', {}, code), note(status)], inline(summary)]);
  }
  return el(
    'article',
    { class: 'record' },
    table('Error codes', ['Code and status', 'Message'], [...rows.values()]),
  );
}
