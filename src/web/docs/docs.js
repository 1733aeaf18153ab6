// @ts-check
// The API reference: loads the OpenAPI document and draws it.

import { breakable, byId, copyButton, el } from '../explorer/dom.js';
import { drawContents, idOf } from './contents.js';
import { paragraphs } from './markdown.js';
import { withResponses } from './openapi.js';
import { drawErrors, drawExamples, drawParameters, drawRecord, drawResponses } from './tables.js';
import { drawTry } from './try-it.js';

/** @typedef {import('./openapi.js').Document} Document */
/** @typedef {import('./openapi.js').Operation} Operation */
/** @typedef {import('./contents.js').Section} Section */

const main = byId('main');
const source = new URL('openapi.json', document.baseURI);

const api = await load();
if (api !== undefined) draw(api);
main.removeAttribute('aria-busy');

/** Shows an error and returns undefined if the document cannot be loaded. @returns {Promise<Document | undefined>} */
async function load() {
  try {
    const response = await fetch(source);
    if (response.ok) return withResponses(await response.json());
    showError(`the server answered ${response.status}`);
  } catch {
    showError('the server did not answer');
  }
}

/** @param {string} reason */
function showError(reason) {
  const retry = el('button', { type: 'button', click: () => location.reload() }, 'Try again');
  const words = el('p', {}, `openapi.json could not be loaded: ${reason}.`);
  const title = el('h2', {}, 'The reference is not available');
  main.replaceChildren(el('section', { class: 'error', role: 'alert' }, title, words, retry));
}

/** @param {Document} api */
function draw(api) {
  const operations = Object.entries(api.paths).map(([path, { get }]) => ({
    ...get,
    path,
    servers: get.servers ?? api.servers,
  }));
  const sections = [
    ...api.tags.map((tag) => drawTag(tag, operations)),
    drawRecords(api),
    {
      name: 'Errors',
      section: el('section', { id: 'errors' }, el('h2', {}, 'Errors'), drawErrors(operations)),
      entries: [],
    },
  ];
  main.replaceChildren(drawOverview(api), ...sections.map(({ section }) => section));
  drawContents(sections);
  // The browser looked for the fragment's target before it was drawn.
  if (location.hash !== '')
    document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

/** @param {Document['tags'][number]} tag @param {Operation[]} operations @returns {Section} */
function drawTag({ name, description }, operations) {
  const own = operations.filter(({ tags }) => tags.includes(name));
  const section = el(
    'section',
    { id: idOf(name) },
    el('h2', {}, name),
    ...paragraphs(description),
    ...own.map((operation) => drawOperation(operation)),
  );
  return {
    name,
    section,
    entries: own.map(({ operationId, summary }) => ({ id: operationId, title: summary })),
  };
}

/** @param {Document} api @returns {Section} */
function drawRecords({ components }) {
  const records = Object.entries(components.schemas);
  const section = el(
    'section',
    { id: 'records' },
    el('h2', {}, 'Records'),
    el('p', {}, 'Every record has all of its members, in this order, and every value is a string.'),
    ...records.map(([name, schema]) => drawRecord(name, schema)),
  );
  return {
    name: 'Records',
    section,
    entries: records.map(([name]) => ({ id: `record-${name}`, title: name })),
  };
}

/** @param {Document} api */
function drawOverview({ info }) {
  const command = `npx openapi-typescript ${source.href} -o vitrine.d.ts`;
  const status = el('p', { class: 'visually-hidden', role: 'status' });
  const copy = copyButton(
    'the command',
    () => command,
    (words) => status.replaceChildren(words),
  );
  return el(
    'section',
    { id: 'overview', class: 'overview' },
    el('h2', {}, info.summary),
    ...paragraphs(info.description),
    el('h3', {}, 'TypeScript types'),
    el(
      'figure',
      { class: 'code' },
      el('figcaption', {}, 'Shell', copy),
      el(
        'pre',
        { tabindex: '0', role: 'region', 'aria-label': 'The command that generates types' },
        el('code', {}, command),
      ),
    ),
    status,
    el('p', { class: 'version' }, `Version ${info.version} · ${info.license.name} licence`),
  );
}

/** @param {Operation} operation */
function drawOperation(operation) {
  const { operationId, path, summary, description, parameters, responses } = operation;
  return el(
    'article',
    { class: 'operation', id: operationId, 'aria-labelledby': `${operationId}-title` },
    el('h3', { id: `${operationId}-title` }, summary),
    el('p', { class: 'route' }, el('b', {}, 'GET'), ' ', el('code', {}, ...breakable(path))),
    ...paragraphs(description),
    el(
      'div',
      { class: 'beside' },
      el('div', {}, drawParameters(parameters), drawResponses(responses)),
      drawExamples(operationId, responses),
    ),
    drawTry(operation),
  );
}
