// Errors as pages, for browsers; programs get JSON.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ErrorCode } from '../api/http/errors.ts';
import { addVary, LONG_CACHING_HEADERS, NOT_FOUND_CACHING } from '../api/http/headers.ts';
import { type Config, listMounts } from '../config/settings.ts';
import { hasKey } from '../records/tables.ts';
import type { Reader } from '../stores/reader.ts';
import { findLanguage } from './languages/language.ts';
import { markup } from './markup.ts';
import { missingPage } from './page.ts';
import { pageHeaders } from './page-headers.ts';

/** Above what any address of a page has, with a path that a proxy may have added. */
const DEEPEST = 20;

/** Whether the client is a browser. */
export const isForPeople = ({ headers }: FastifyRequest): boolean =>
  /\btext\/html\b/.test(headers.accept ?? '');

/** Turns the JSON of errors of this context into pages. */
export function addErrorPages(app: FastifyInstance, config: Config, store: Pick<Reader, 'lastImport'>): void {
  const { errors, noData } = findLanguage(config).words;
  const lead = markup`${noData.lead[0]}<code dir="ltr">vitrine import people.ndjson</code>${noData.lead[1]}`;
  const apis = listMounts(config).map(({ base }) => `${base.path}/api`);
  app.addHook('onSend', (request, reply, payload, done) => {
    if (reply.statusCode < 400) return done();
    const isJson = /json/.test(String(reply.getHeader('content-type')));
    const isApi = apis.some((api) =>
      /^(?:[/?]|$)/.test(request.url.startsWith(api) ? request.url.slice(api.length) : '-'),
    );
    if (!isJson || isApi || !Buffer.isBuffer(payload)) return done();
    if (reply.statusCode === 404 || reply.statusCode === 410) {
      addVary(reply, 'Accept');
      // Not for proxies, which would keep a copy for each spelling of Accept, or one of them for all.
      for (const name of LONG_CACHING_HEADERS) reply.removeHeader(name);
      if (reply.getHeader('cache-control') === NOT_FOUND_CACHING)
        reply.header('cache-control', `private, ${NOT_FOUND_CACHING}`);
    }
    const { code }: { code: ErrorCode } = JSON.parse(payload.toString());
    const text = hasKey(errors, code) ? errors[code] : undefined;
    if (text === undefined || !isForPeople(request)) return done();
    const isEmpty = code === 'NOT_READY' && hasNoData(store);
    const [path = ''] = request.url.split('?');
    const depth = path.split('/').length - 2;
    // Nothing is so deep: the page would hold the way up several times.
    const root = depth > DEEPEST ? '/' : '../'.repeat(depth) || './';
    const page = isEmpty ? { title: noData.title, lead } : text;
    reply.headers(pageHeaders(config));
    done(null, missingPage(config, root, page));
  });
}

/** Whether nothing was imported yet. */
export function hasNoData(store: Pick<Reader, 'lastImport'>): boolean {
  try {
    return store.lastImport() === undefined;
  } catch {
    return true;
  }
}
