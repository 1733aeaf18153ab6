// What search engines, link previews and feed readers find in the head of a person's page.
import type { Mount } from '../config/clashes.ts';
import { lookupAddresses, VARIANTS } from '../variants.ts';
import type { Look } from './look.ts';
import { jsonBlock, type Markup, markup } from './markup.ts';
import { type Person, shortened, titleOf } from './person.ts';

const LONGEST_DESCRIPTION = 200;

export function personHead({ variant, base }: Mount, person: Person, look: Look, root: string): Markup {
  const segment = encodeURIComponent(person.username);
  const title = titleOf(person);
  const description = shortened(
    person.bio || `The latest ${person.noun} of ${person.name}.`,
    LONGEST_DESCRIPTION,
  );
  const page = base.origin === undefined ? undefined : `${base.origin}/people/${variant}/${segment}`;
  const api = lookupAddresses(VARIANTS[variant].style, base.path, person.username).profile.slice(1);
  return markup`<title>${look.titled(title)}</title>
    <meta name="description" content="${description}">
    ${page && markup`<link rel="canonical" href="${page}">`}
    <link rel="alternate" type="application/json" href="${root}${api}">
    <link rel="alternate" type="application/atom+xml" title="${title}" href="${root}feeds/${variant}/${segment}.atom">
    <link rel="alternate" type="application/feed+json" title="${title}" href="${root}feeds/${variant}/${segment}.json">
    <meta property="og:type" content="profile">
    <meta property="og:title" content="${title}">
    <meta property="og:description" content="${description}">
    <meta property="og:site_name" content="${look.name}">
    <meta property="profile:username" content="${person.username}">
    ${page && markup`<meta property="og:url" content="${page}">`}
    ${person.avatar && markup`<meta property="og:image" content="${person.avatar}">`}
    <meta name="twitter:card" content="summary">
    <script type="application/ld+json">${jsonBlock(linkedData(person))}</script>`;
}

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
