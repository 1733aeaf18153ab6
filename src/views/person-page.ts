// What stands in the explorer's HTML when it opens on one user: readable without scripts, and known to link previews.
import type { Site } from '../config/clashes.ts';
import { STYLES, VARIANTS } from '../variants.ts';
import type { Opened } from './explorer-page.ts';
import { jsonBlock, type Markup, markup } from './markup.ts';
import { type Item, initialsOf, type Person, shortened, titleOf, writtenDate } from './person.ts';

const ROOT = '../../';
const LONGEST_DESCRIPTION = 200;

export function personPage({ variant, base }: Site, person: Person): Opened {
  const segment = encodeURIComponent(person.username);
  const title = titleOf(person);
  const description = shortened(
    person.bio || `The latest ${person.noun} of ${person.name}.`,
    LONGEST_DESCRIPTION,
  );
  const page = base.origin === undefined ? undefined : `${base.origin}/people/${variant}/${segment}`;
  return {
    root: ROOT,
    profile: profileOf(person),
    title: markup`<title>${title}</title>
    <meta name="description" content="${description}">
    <link rel="canonical" href="${page ?? segment}">
    <link rel="alternate" type="application/json" href="${ROOT}${apiAddress({ variant, base }, segment)}">
    <link rel="alternate" type="application/atom+xml" title="${title}" href="${ROOT}feeds/${variant}/${segment}.atom">
    <link rel="alternate" type="application/feed+json" title="${title}" href="${ROOT}feeds/${variant}/${segment}.json">
    <meta property="og:type" content="profile">
    <meta property="og:title" content="${title}">
    <meta property="og:description" content="${description}">
    <meta property="profile:username" content="${person.username}">
    ${page && markup`<meta property="og:url" content="${page}">`}
    ${person.avatar && markup`<meta property="og:image" content="${person.avatar}">`}
    <meta name="twitter:card" content="summary">
    <script type="application/ld+json">${jsonBlock(linkedData(person))}</script>`,
  };
}

/** For a name that nobody has. */
export const unknownPage = (user: string): Opened => ({
  root: ROOT,
  profile: markup`<div class="notice"><h2 dir="auto">No user named “${shortened(user, 60)}”</h2></div>`,
  title: markup`<title>No user named “${shortened(user, 60)}”</title>
    <meta name="robots" content="noindex">`,
});

/** The profile's address, from the server's root. */
const apiAddress = ({ variant, base }: Site, segment: string) =>
  (base.path + STYLES[VARIANTS[variant].style].profile.replace(':username', () => segment)).slice(1);

/** A `ProfilePage` of schema.org. */
function linkedData({ id, name, username, bio, avatar, links, counts }: Person) {
  const [[, published], [, followers], [, following]] = counts as [
    [string, string],
    [string, string],
    [string, string],
  ];
  const counter = (action: string, digits: string) => ({
    '@type': 'InteractionCounter',
    interactionType: `https://schema.org/${action}`,
    userInteractionCount: Math.min(Number(digits), Number.MAX_SAFE_INTEGER),
  });
  return {
    '@context': 'https://schema.org',
    '@type': 'ProfilePage',
    mainEntity: {
      '@type': 'Person',
      name,
      alternateName: username,
      identifier: id,
      ...(bio && { description: bio }),
      ...(avatar && { image: avatar }),
      ...(links.length > 0 && { sameAs: links }),
      interactionStatistic: counter('FollowAction', followers),
      agentInteractionStatistic: [counter('WriteAction', published), counter('FollowAction', following)],
    },
  };
}

/** The profile as text, in the places where the script draws it with its pictures. */
function profileOf(person: Person): Markup {
  const { name, username, bio, location, links, counts, noun, items } = person;
  return markup`<div class="profile plain">
      <div class="cover"></div>
      <div class="person">
        <span class="picture avatar"><span class="initials" aria-hidden="true">${initialsOf(name)}</span></span>
        <div class="names">
          <h2><bdi>${name}</bdi></h2>
          <p class="handle"><bdi>@${username}</bdi></p>
        </div>
      </div>
      ${bio && markup`<p class="bio" dir="auto">${bio}</p>`}
      <p class="places">${location && markup`<span dir="auto">${location}</span>`}${links.map(outside)}</p>
      <dl class="counts">${counts.map(([label, digits]) => markup`<div><dt>${label}</dt><dd>${digits || '0'}</dd></div>`)}</dl>
    </div>
    <div class="${noun}">
      <h3 class="visually-hidden">Latest ${noun}</h3>
      ${items.length === 0 ? markup`<p class="no-items">No ${noun} yet.</p>` : markup`<ol class="plain-list">${items.map(itemOf)}</ol>`}
    </div>`;
}

const outside = (url: string) => markup`<a href="${url}" rel="noopener noreferrer nofollow">${url}</a>`;

const itemOf = ({ title, text, date, url }: Item) => markup`<li>
        ${title && markup`<h4 dir="auto">${url === '' ? title : markup`<a href="${url}" rel="noopener noreferrer nofollow">${title}</a>`}</h4>`}
        ${text && markup`<p dir="auto">${text}</p>`}
        <time class="when" datetime="${date}">${writtenDate(date)}</time>
      </li>`;
