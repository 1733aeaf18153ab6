// @ts-check
// The page behind "Follow": completes the addresses of the feeds with this host, and adds a button that copies each.
import { byId, copyButton } from './explorer/dom.js';

for (const link of document.querySelectorAll('a.feed-address')) {
  const { href } = /** @type {HTMLAnchorElement} */ (link);
  link.textContent = href;
  link.after(
    copyButton(
      'address',
      () => href,
      (message) => {
        byId('status').textContent = message;
      },
    ),
  );
}
