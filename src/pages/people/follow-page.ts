// The page behind "Follow": what a feed is, and the addresses of both. A script adds buttons that copy them.

import type { Mount } from '../../config/mount.ts';
import type { Config } from '../../config/settings.ts';
import { fill, findLanguage } from '../languages/language.ts';
import type { Words } from '../languages/words.ts';
import { createLook } from '../look.ts';
import { fillMarkup, type Markup, markup } from '../markup.ts';
import { createLayout } from '../page.ts';
import { fileAddress } from '../page-files.ts';
import { LONGEST_TITLE, type Person, personTitle, shortened } from './person.ts';
import { byline } from './person-page.ts';
import { createPictureSource, type KnownPictures } from './pictures.ts';
import { spoken } from './text.ts';

const ROOT = '../../../';

export function createFollowPage(config: Config, mount: Mount) {
  const { variant, base } = mount;
  const findSource = createPictureSource(config, ROOT);
  const look = createLook(config);
  const layout = createLayout(config, ROOT);
  const { words } = findLanguage(config);
  return (person: Person, pictures?: KnownPictures): string => {
    const { username, name, noun } = person;
    const segment = encodeURIComponent(username);
    const address = (kind: string, extension: string) => {
      const path = `feeds/${variant}/${segment}.${extension}`;
      return feedAddress(kind, `${ROOT}${path}`, `${base.origin ?? ''}/${path}`);
    };
    return layout({
      name: 'follow',
      head: markup`<title>${look.titled(fill(words.followName, { name: personTitle(person) }))}</title>
    <meta name="robots" content="noindex">
    <script type="module" src="${ROOT}${fileAddress(config, 'follow.js')}"></script>`,
      main: markup`
      ${byline(person, findSource(pictures), `../${segment}`)}
      <div class="sheet">
        <h1>${fillMarkup(words.followName, { name: markup`<bdi${spoken(name)}>${shortened(name, LONGEST_TITLE)}</bdi>` })}</h1>
        <p>${words.feedsAre[noun]}</p>
        ${readerLinks(words, base.origin && `${base.origin}/feeds/${variant}/${segment}.atom`)}
        <dl class="feeds" data-copy="${words.copy}" data-copied="${words.copied}" data-not-copied="${words.notCopied}">
          ${address('Atom', 'atom')}
          ${address('JSON Feed', 'json')}
        </dl>
        <p>${words.feedsHave[noun]}</p>
        <p id="status" class="visually-hidden" role="status"></p>
      </div>
    `,
    });
  };
}

/** What adds a feed: the app of the visitor's system, and readers on the web. */
const READERS = [
  [undefined, 'feed:'],
  ['Feedly', 'https://feedly.com/i/subscription/feed/'],
  ['Inoreader', 'https://www.inoreader.com/?add_feed='],
] as const;

/** Without a base URL, the server does not know its host: a script completes them. */
function readerLinks(words: Words, feed: string | undefined): Markup {
  const links = READERS.map(([name, start]) => {
    const address = feed && start + (start === 'feed:' ? feed : encodeURIComponent(feed));
    const where = address === undefined ? markup`data-reader="${start}"` : markup`href="${address}"`;
    return markup`<li><a ${where} rel="nofollow noreferrer">${name ?? words.feedApp}</a></li>`;
  });
  return markup`<section${feed === undefined && markup` hidden`}>
          <h2>${words.feedReaders}</h2>
          <ul class="readers">${links}</ul>
        </section>`;
}

const feedAddress = (kind: string, href: string, shown: string): Markup =>
  markup`<div><dt>${kind}</dt><dd><a class="feed-address" href="${href}" dir="ltr">${shown}</a></dd></div>`;
