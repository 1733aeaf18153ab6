// What search engines, link previews and feed readers find in the head of a person's page.
import type { InteractionCounter, ProfilePage, WithContext } from 'schema-dts';
import type { Mount } from '../config/clashes.ts';
import { lookupAddresses, VARIANTS } from '../variants.ts';
import type { Look } from './look.ts';
import { jsonBlock, type Markup, markup } from './markup.ts';
import { type Person, personTitle, shortened } from './person.ts';
import { PREVIEW } from './preview-image.ts';

const LONGEST_DESCRIPTION = 200;

export function personHead({ variant, base }: Mount, person: Person, look: Look, root: string): Markup {
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
    <link rel="alternate" type="application/json" href="${root}${api}">
    <link rel="alternate" type="application/atom+xml" title="${title}" href="${root}feeds/${variant}/${segment}.atom">
    <link rel="alternate" type="application/feed+json" title="${title}" href="${root}feeds/${variant}/${segment}.json">
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
  { id, name, username, bio, avatar, links, counts, items }: Person,
  page: string | undefined,
): WithContext<ProfilePage> {
  const newest = items[0]?.date;
  const [[, published], [, followers], [, following]] = counts as [
    [string, string],
    [string, string],
    [string, string],
  ];
  const counter = (action: 'FollowAction' | 'WriteAction', digits: string): InteractionCounter => ({
    '@type': 'InteractionCounter',
    interactionType: { '@type': action },
    userInteractionCount: Math.min(Number(digits), Number.MAX_SAFE_INTEGER),
  });
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
      interactionStatistic: counter('FollowAction', followers),
      agentInteractionStatistic: [counter('WriteAction', published), counter('FollowAction', following)],
    },
  };
}
