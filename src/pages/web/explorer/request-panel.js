// @ts-check
// The panel of a request, in the explorer and for each operation of the reference: its code, and what came back.
import { enhanceCode } from './code-tabs.js';
import { describeStatus, drawRequestLine, drawResponse, drawStatus } from './exchange.js';
import { sendRequest } from './send.js';

/** @typedef {import('./snippets.d.ts').Shown} Shown */
/** @typedef {import('./send.js').Outcome} Outcome */

/**
 * @param {Record<'panel' | 'code' | 'line' | 'response', Element> & { status: HTMLElement }} places the panel is busy until the response is there
 * @param {string} name of the body
 * @param {(message: string) => void} announce
 * @param {typeof sendRequest} [send]
 */
export function createRequestPanel(places, name, announce, send = sendRequest) {
  /** @type {Shown} */
  let shown = { url: '', types: [] };
  let pending = new AbortController();
  places.status.tabIndex = -1;
  const updateCode = enhanceCode(places.code, () => shown, announce);

  /** The code of a request before it is sent. @param {Shown} request */
  function show(request) {
    shown = request;
    updateCode();
  }

  /** Repeats the request with this ETag. Only the panel changes: it says what came back, and takes the focus of the button. @param {string} etag */
  async function revalidate(etag) {
    places.status.focus();
    const outcome = await run({ ...shown, headers: { ...shown.headers, 'If-None-Match': etag } });
    if (outcome !== undefined) announce(describeStatus(outcome));
  }

  /** Undefined if another request took its place. @param {Shown} request @returns {Promise<Outcome | undefined>} */
  async function run(request) {
    pending.abort();
    pending = new AbortController();
    const { signal } = pending;
    show(request);
    places.line.replaceChildren(drawRequestLine(request, announce));
    places.status.replaceChildren(drawStatus(undefined, revalidate));
    places.panel.setAttribute('aria-busy', 'true');
    const outcome = await send(request.url, { ...request, signal }).catch(() => undefined);
    if (outcome === undefined) return undefined;
    places.panel.removeAttribute('aria-busy');
    places.status.replaceChildren(drawStatus(outcome, revalidate));
    places.response.replaceChildren(...drawResponse(name, outcome, announce));
    return outcome;
  }

  return { show, send: run };
}
