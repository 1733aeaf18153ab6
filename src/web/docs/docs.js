// @ts-check
// The API reference: reads the OpenAPI document beside it, and draws what it says.

import { byId, copyButton, el } from '../explorer/dom.js';
import { prose } from './prose.js';
import { drawErrors, drawParameters, drawRecord, drawResponses } from './tables.js';
import { drawTry } from './try-it.js';

/** @typedef {import('./document.js').Document} Document */
/** @typedef {import('./document.js').Operation} Operation */

const main = byId('main');
const source = new URL('openapi.json', document.baseURI);

const api = await read();
if (api !== undefined) draw(api);
main.removeAttribute('aria-busy');

/** The document; undefined, and said so, when it cannot be had. @returns {Promise<Document | undefined>} */
async function read() {
  try {
    const response = await fetch(source);
    if (response.ok) return await response.json();
    lament(`the server answered ${response.status}`);
  } catch {
    lament('the server did not answer');
  }
}

/** @param {string} reason */
function lament(reason) {
  const again = el('button', { type: 'button', click: () => location.reload() }, 'Try again');
  const words = el('p', {}, `openapi.json could not be read: ${reason}.`);
  const title = el('h2', {}, 'The reference cannot be shown');
  main.replaceChildren(el('section', { class: 'trouble', role: 'alert' }, title, words, again));
}

/** @param {Document} api */
function draw(api) {
  const operations = Object.entries(api.paths).map(([path, { get }]) => ({
    ...get,
    path,
    servers: get.servers ?? api.servers,
  }));
  const records = Object.entries(api.components.schemas);
  const sections = [
    ...api.tags.map((tag) => {
      const own = operations.filter(({ tags }) => tags.includes(tag.name));
      const title = el('h2', {}, tag.name);
      const article = el(
        'section',
        { id: anchor(tag.name) },
        title,
        ...prose(tag.description),
        ...own.map((one) => drawOperation(one)),
      );
      return {
        name: tag.name,
        article,
        entries: own.map(({ operationId, summary }) => ({ id: operationId, title: summary })),
      };
    }),
    {
      name: 'Records',
      article: el(
        'section',
        { id: 'records' },
        el('h2', {}, 'Records'),
        el(
          'p',
          {},
          'What comes back, member by member, always in this order. All members are there, and all values are strings.',
        ),
        ...records.map(([name, schema]) => drawRecord(name, schema)),
      ),
      entries: records.map(([name]) => ({ id: `record-${name}`, title: name })),
    },
    {
      name: 'Errors',
      article: el('section', { id: 'errors' }, el('h2', {}, 'Errors'), drawErrors(operations)),
      entries: [],
    },
  ];

  main.replaceChildren(drawOverview(api), ...sections.map(({ article }) => article));
  byId('contents').replaceChildren(
    el(
      'ul',
      {},
      ...sections.map(({ name, entries }) =>
        el(
          'li',
          {},
          el('a', { href: `#${anchor(name)}` }, name),
          entries.length > 0 &&
            el('ul', {}, ...entries.map(({ id, title }) => el('li', {}, el('a', { href: `#${id}` }, title)))),
        ),
      ),
    ),
  );
  // What the address names was not there when the browser looked for it.
  if (location.hash !== '')
    document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

/** @param {string} name */
function anchor(name) {
  return name.toLowerCase().replaceAll(' ', '-');
}

/** @param {Document} api */
function drawOverview({ info }) {
  const line = `npx openapi-typescript ${source.href} -o vitrine.d.ts`;
  const said = el('p', { class: 'unseen', role: 'status' });
  return el(
    'section',
    { id: 'overview', class: 'overview' },
    el('h2', {}, info.summary),
    ...prose(info.description),
    el('h3', {}, 'Types for TypeScript, in one line'),
    el(
      'figure',
      { class: 'code' },
      el(
        'figcaption',
        {},
        'Shell',
        copyButton(
          'the line',
          () => line,
          (words) => said.replaceChildren(words),
        ),
      ),
      el(
        'pre',
        { tabindex: '0', role: 'region', 'aria-label': 'The line that makes types' },
        el('code', {}, line),
      ),
    ),
    said,
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
    ...prose(description),
    drawParameters(parameters),
    drawResponses(operationId, responses),
    drawTry(operation),
  );
}

/** A path that may be broken after its slashes. @param {string} path */
function breakable(path) {
  return path.split(/(?<=\/)/).flatMap((part) => [el('wbr'), part]);
}
