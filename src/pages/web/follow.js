// @ts-check
// The page behind "Follow": completes the addresses of the feeds with this host, and adds a button that copies each.
import { byId, copyButtonIn } from './explorer/dom.js';

const texts = /** @type {HTMLElement} */ (document.querySelector('.feeds')).dataset;

// Without a base URL, the server does not know its host.
for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (
  document.querySelectorAll('[data-reader]')
)) {
  const start = link.dataset.reader ?? '';
  const feed = /** @type {HTMLAnchorElement} */ (document.querySelector('a.feed-address')).href;
  link.href = start + (start === 'feed:' ? feed : encodeURIComponent(feed));
  link.closest('section')?.removeAttribute('hidden');
}

for (const link of document.querySelectorAll('a.feed-address')) {
  const { href } = /** @type {HTMLAnchorElement} */ (link);
  link.textContent = href;
  const words = {
    copy: texts.copy ?? '',
    label: `${texts.copy}: ${href}`,
    copied: texts.copied ?? '',
    done: texts.copied ?? '',
    failed: texts.notCopied ?? '',
  };
  link.after(
    copyButtonIn(
      words,
      () => href,
      (message) => {
        byId('status').textContent = message;
      },
    ),
  );
}
