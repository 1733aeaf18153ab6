// @ts-check
// Where files are served themselves, a saved file shows at once: the page is asked for again, and differs if the data does.
import { configuration, root } from './state.js';

const POLL_MS = 1000;

/** @param {() => void} onChange */
export function watchData(onChange) {
  if (configuration.live === null) return;
  setInterval(async () => {
    if (document.hidden) return;
    try {
      const response = await fetch(root);
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      const { people, live } = JSON.parse(page.getElementById('configuration')?.textContent ?? 'null');
      if (live === configuration.live) return;
      Object.assign(configuration, { people, live });
      onChange();
    } catch {
      // The server is being started again.
    }
  }, POLL_MS);
}
