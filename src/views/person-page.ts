// The page of one user, and the pages for names that nobody has. They need no script: what is in them is all there is.
import type { ProfilePage, WithContext } from 'schema-dts';
import type { Mount } from '../config/clashes.ts';
import type { Config } from '../config/config.ts';
import { lookupAddresses, VARIANTS } from '../variants.ts';
import { createLook, type Look } from './look.ts';
import { jsonBlock, type Markup, markup } from './markup.ts';
import {
  type Direction,
  findDirection,
  type Person,
  personTitle,
  shortened,
  takeInitials,
} from './person.ts';
import { openable, outside, personItems } from './person-items.ts';
import { createPictureSource, type PictureSource, picture } from './pictures.ts';
import { PREVIEW } from './preview-image.ts';

const LONGEST_DESCRIPTION = 200;

/** The way from a page of a person to the server's root; relative, so that it holds below any prefix. */
const ROOT = '../../';

export interface PageLink {
  readonly name: string;
  readonly href: string;
}

export function createPersonPages(config: Config, mount: Mount) {
  const look = createLook(config);
  const source = createPictureSource(config, ROOT);
  const explorer = (name: string) => `${ROOT}?${new URLSearchParams({ variant: mount.variant, user: name })}`;
  return {
    person: (person: Person): string =>
      layout({
        look,
        root: ROOT,
        head: personHead(mount, person, look),
        links: navigation(mount, person, explorer(person.username)),
        main: personMain(person, source),
        name: person.noun,
        direction: findDirection(person),
        footer: markup`<p>Put this on a page of your own: <a href="${explorer(person.username)}#card">a card</a>.</p>`,
      }),
    /** For the name of a user who was taken down. */
    removed(name: string, links: readonly PageLink[]): string {
      const title = `“${shortened(name, 60)}” was removed`;
      const lead = `The site took this user down.${links.length > 0 ? ' You can look at:' : ''}`;
      return missingPage(look, ROOT, { title, lead, links });
    },
    /** For a name that nobody has. */
    unknown(name: string, links: readonly PageLink[]): string {
      const title = `No user named “${shortened(name, 60)}”`;
      const lead = links.length > 0 ? 'Check the spelling, or look at:' : 'Check the spelling.';
      return missingPage(look, ROOT, { title, lead, links });
    },
  };
}

/** What search engines, link previews and feed readers find. */
function personHead({ variant, base }: Mount, person: Person, look: Look): Markup {
  const segment = encodeURIComponent(person.username);
  const title = personTitle(person);
  const description = shortened(
    person.bio || `The latest ${person.noun} of ${person.name}.`,
    LONGEST_DESCRIPTION,
  );
  const page = base.origin === undefined ? undefined : `${base.origin}/people/${variant}/${segment}`;
  const api = lookupAddresses(VARIANTS[variant].style, base.path, person.username).profile.slice(1);
  return markup`<title>${look.titled(title)}</title>
    <meta name="description" content="${description}">
    ${page && markup`<link rel="canonical" href="${page}">`}
    <link rel="alternate" type="application/json" href="${ROOT}${api}">
    <link rel="alternate" type="application/atom+xml" title="${title}" href="${ROOT}feeds/${variant}/${segment}.atom">
    <link rel="alternate" type="application/feed+json" title="${title}" href="${ROOT}feeds/${variant}/${segment}.json">
    ${page && markup`<link rel="alternate" type="application/json+oembed" title="${title}" href="${base.origin}/oembed?${String(new URLSearchParams({ url: page, format: 'json' }))}">`}
    <meta property="og:type" content="profile">
    <meta property="og:title" content="${title}">
    <meta property="og:description" content="${description}">
    <meta property="og:site_name" content="${look.name}">
    <meta property="profile:username" content="${person.username}">
    ${page && markup`<meta property="og:url" content="${page}">`}
    ${base.origin === undefined ? person.avatar && markup`<meta property="og:image" content="${person.avatar}">` : previewPicture(`${base.origin}/card/${variant}/${segment}.png`, title)}
    <meta name="twitter:card" content="${base.origin === undefined ? 'summary' : 'summary_large_image'}">
    <script type="application/ld+json">${jsonBlock(linkedData(person, page))}</script>`;
}

/** Messengers want an absolute address. */
const previewPicture = (address: string, title: string) =>
  markup`<meta property="og:image" content="${address}">
    <meta property="og:image:type" content="image/png">
    <meta property="og:image:width" content="${PREVIEW.width}">
    <meta property="og:image:height" content="${PREVIEW.height}">
    <meta property="og:image:alt" content="The card of ${title}">`;

/** The types hold it against the vocabulary of schema.org. */
function linkedData(
  { id, name, username, bio, avatar, links, items }: Person,
  page: string | undefined,
): WithContext<ProfilePage> {
  const newest = items[0]?.date;
  return {
    '@context': 'https://schema.org',
    '@type': 'ProfilePage',
    ...(page && { '@id': page, url: page }),
    ...(newest && { dateModified: newest }),
    mainEntity: {
      '@type': 'Person',
      name,
      ...(page && { url: page }),
      alternateName: username,
      identifier: id,
      ...(bio && { description: bio }),
      ...(avatar && { image: avatar }),
      ...(links.length > 0 && { sameAs: links }),
    },
  };
}

interface Layout {
  readonly look: Look;
  readonly root: string;
  readonly head: Markup;
  readonly main: Markup;
  readonly name: string;
  readonly links?: Markup;
  readonly direction?: Direction;
  readonly footer?: Markup;
}

export const layout = ({ look, root, head, main, name, links, direction = 'ltr', footer }: Layout): string =>
  markup`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    ${head}
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="theme-color" media="(prefers-color-scheme: light)" content="#e7edeb">
    <meta name="theme-color" media="(prefers-color-scheme: dark)" content="#0b1110">
    ${look.icon(root)}
    <link rel="stylesheet" href="${root}person.css">
  </head>
  <body class="${name}">
    <a class="skip" href="#main">Skip to the content</a>
    <header class="top">
      ${look.brand(root, root)}
      ${links && markup`<nav aria-label="Formats">${links}</nav>`}
    </header>
    <main id="main" dir="${direction}" tabindex="-1">${main}</main>
    <footer>
      ${look.footer()}
      ${footer}
    </footer>
  </body>
</html>
`.text;

const navigation = ({ variant }: Mount, { username }: Person, explorer: string) =>
  markup`<a href="${ROOT}feeds/${variant}/${encodeURIComponent(username)}.atom">Feed</a>
        <a href="${explorer}">JSON</a>`;

/** Such names would take the height of the screen. */
const LONG_NAME = 40;

/** The profile in its case, and below it the items. */
function personMain(person: Person, source: PictureSource): Markup {
  const { name, username, bio, verified, noun, cover, avatar, skills } = person;
  const isGallery = noun === 'shots';
  // In a gallery the newest work takes the place of a cover that is missing.
  const newest = isGallery ? person.items[0]?.image : undefined;
  const coverPicture = picture(source(cover) ?? (newest && source(newest)), {
    kind: 'cover',
    width: 1600,
    height: isGallery ? 400 : 240,
    seed: `${username} cover`,
    priority: 'high',
  });
  const avatarPicture = picture(source(avatar), {
    kind: 'avatar',
    width: 160,
    height: 160,
    seed: username,
    initials: takeInitials(name),
    priority: 'eager',
  });
  const places = listPlaces(person);
  return markup`
      <div class="case">
        ${coverPicture}
        <div class="plinth">
          ${avatarPicture}
          <div class="plate${name.length > LONG_NAME && ' long'}">
            <h1 dir="auto">${name}${verified ? markup`<span class="verified" role="img" aria-label="verified" title="verified"></span>` : undefined}</h1>
            <p class="handle"><bdi>@${username}</bdi></p>
          </div>
          ${counts(person)}
        </div>
      </div>
      <div class="about">
        ${bio && openable(bio, 'bio', name)}
        ${places.length > 0 && markup`<p class="places">${places}</p>`}
        ${skills.length > 0 && markup`<ul class="tags" aria-label="Skills">${skills.map((skill) => markup`<li dir="auto">${skill}</li>`)}</ul>`}
      </div>
      ${personItems(person, source)}
    `;
}

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat('en');

/** A zero says nothing: totals are often not imported. */
function counts({ counts }: Person): Markup | undefined {
  const shown = counts.filter(([, digits]) => /[1-9]/.test(digits));
  if (shown.length === 0) return undefined;
  return markup`<dl class="counts">${shown.map(
    ([label, digits]) =>
      markup`<div><dt>${label}</dt><dd title="${digits}">${/^\d{1,30}$/.test(digits) ? (digits.length < 6 ? WHOLE : COMPACT).format(BigInt(digits)) : shortened(digits, 12)}</dd></div>`,
  )}</dl>`;
}

const REGIONS = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' });

function listPlaces({ location, country, links }: Person): Markup[] {
  return [
    ...(location ? [markup`<span dir="auto">${location}</span>`] : []),
    ...(/^[A-Z]{2}$/.test(country)
      ? [markup`<abbr class="country" title="${REGIONS.of(country)}">${country}</abbr>`]
      : []),
    ...links.map((url) => outside(url, markup`<bdi>${shownUrl(url)}</bdi>`)),
  ];
}

function shownUrl(url: string): string {
  const { host, pathname } = new URL(url);
  return shortened(`${host.replace(/^www\./, '')}${pathname.replace(/\/$/, '')}`, 60);
}

interface MissingPage {
  readonly title: string;
  readonly lead: string;
  readonly links: readonly PageLink[];
}

/** The empty case, with a way on. `root` is the way from the address that was asked for. */
export const missingPage = (look: Look, root: string, { title, lead, links }: MissingPage): string =>
  layout({
    look,
    root,
    name: 'missing',
    head: markup`<title>${look.titled(title)}</title>
    <meta name="robots" content="noindex">`,
    main: markup`
      <div class="notice">
        ${EMPTY_CASE}
        <h1 dir="auto">${title}</h1>
        <p>${lead}</p>
        ${links.length > 0 && markup`<ul class="suggestions">${links.map(({ name, href }) => markup`<li><a href="${href}"><bdi>${name}</bdi></a></li>`)}</ul>`}
        <p><a href="${root}">To the start page</a></p>
      </div>`,
  });

export const EMPTY_CASE = markup`<svg class="empty-case" viewBox="0 0 240 190" aria-hidden="true">
          <path class="beam" d="M106 24h28l46 110H60z" />
          <path class="glass" d="M50 22h140v112H50z" />
          <path class="glint" d="M64 62l28-28M64 96l62-62" />
          <path class="stand" d="M100 134v-14h40v14z" />
          <path class="base" d="M36 134h168v12H36z" />
          <path class="leg" d="M50 146h140v34H50z" />
          <path class="plate" d="M98 157h44v12H98z" />
        </svg>`;
