// The list of all people: as a page, as JSON, and as sitemaps.
import type { Mount } from '../config/clashes.ts';
import type { Config } from '../config/config.ts';
import { createLook } from './look.ts';
import { markup } from './markup.ts';
import { LONGEST_TITLE, type Person, shortened, takeInitials } from './person.ts';
import { layout } from './person-page.ts';
import { createPictureSource, type PictureSource, picture } from './pictures.ts';

export interface DirectoryPage {
  readonly people: readonly Person[];
  /** The name that the page begins behind; empty for the first page. */
  readonly after: string;
  readonly isLast: boolean;
}

const ROOT = '../';
const LONGEST_BIO = 140;
const TITLE = 'People';

const address = (file: string, after: string) =>
  after === '' ? file : `${file}?${new URLSearchParams({ after })}`;

export function directoryPage({ variant, base }: Mount, page: DirectoryPage, config: Config): string {
  const { people, after, isLast } = page;
  const look = createLook(config);
  const source = createPictureSource(config, ROOT);
  const canonical = base.origin && `${base.origin}/people/${address(variant, after)}`;
  const entries = people.map((person) => entry(person, variant, source));
  return layout({
    look,
    root: ROOT,
    name: 'people',
    head: markup`<title>${look.titled(TITLE)}</title>
    <meta name="description" content="Everybody with a page here, by name.">
    ${canonical && markup`<link rel="canonical" href="${canonical}">`}
    <link rel="alternate" type="application/json" href="${address(`${variant}.json`, after)}">`,
    main: markup`
      <h1>${TITLE}</h1>
      ${people.length === 0 ? markup`<p>Nobody ${after === '' ? 'yet' : 'further'}.</p>` : markup`<ul class="directory">${entries}</ul>`}
      <nav class="pages" aria-label="Pages">
        ${after !== '' && markup`<a href="${variant}">First page</a>`}
        ${!isLast && markup`<a rel="next" href="${address(variant, people.at(-1)?.username ?? '')}">Next page</a>`}
      </nav>
    `,
  });
}

function entry({ username, name, bio, smallAvatar }: Person, variant: string, source: PictureSource) {
  const size = { width: 64, height: 64 };
  const avatar = { kind: 'face', seed: username, initials: takeInitials(name), ...size };
  return markup`<li><a href="${variant}/${encodeURIComponent(username)}">${picture(source(smallAvatar), avatar)}
          <span class="who"><bdi class="name">${shortened(name, LONGEST_TITLE)}</bdi> <bdi class="handle">@${shortened(username, LONGEST_TITLE)}</bdi>
          ${bio && markup`<span class="line" dir="auto">${shortened(bio, LONGEST_BIO)}</span>`}</span></a></li>
        `;
}

export function directoryJson({ variant }: Mount, { people, isLast }: DirectoryPage): string {
  const next = isLast ? '' : address(`${variant}.json`, people.at(-1)?.username ?? '');
  const entries = people.map(({ username, name }) => ({
    username,
    name,
    page: `${variant}/${encodeURIComponent(username)}`,
  }));
  return JSON.stringify({ people: entries, next });
}

/** The protocol allows 2,048. Who has a longer name is in the directory all the same. */
const LONGEST_ADDRESS = 450;

const XML = '<?xml version="1.0" encoding="UTF-8"?>\n';
const NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"';

export function sitemap(addresses: readonly string[]): string {
  const entries = addresses
    .filter(({ length }) => length <= LONGEST_ADDRESS)
    .map((address) => markup`<url><loc>${address}</loc></url>\n`.text);
  return `${XML}<urlset ${NAMESPACE}>\n${entries.join('')}</urlset>\n`;
}

export function sitemapIndex(files: readonly string[]): string {
  const entries = files.map((file) => markup`<sitemap><loc>${file}</loc></sitemap>\n`.text);
  return `${XML}<sitemapindex ${NAMESPACE}>\n${entries.join('')}</sitemapindex>\n`;
}
