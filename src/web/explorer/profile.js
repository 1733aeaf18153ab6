// @ts-check
// The profile at the top: cover, avatar, name, bio, links, skills and counts.
import { el, externalLink, httpUrl, text, visibleText } from './dom.js';
import { takeInitials } from './pictures.js';

/** @typedef {Record<string, unknown>} Data */
/** @typedef {import('./pictures.js').Pictures} Pictures */
/** @typedef {import('./api.js').Variant} Variant */

const COUNTS = {
  microblog: {
    totalPost: 'Posts',
    totalFollowers: 'Followers',
    totalFollowing: 'Following',
    totalFavs: 'Favourites',
  },
  portfolio: {
    totalShots: 'Shots',
    totalFollowers: 'Followers',
    totalFollowing: 'Following',
    Likes: 'Likes',
    Projects: 'Projects',
    Lists: 'Lists',
    Listed: 'Listed',
  },
};

/** @param {Data} profile */
export const displayName = (profile) => visibleText(profile.name) || text(profile.username);

/** @param {Variant} variant @param {Data} profile @param {Pictures} pictures */
export function drawProfile({ family }, profile, pictures) {
  const large = family === 'microblog' ? text(profile.cover_large) : '';
  const skills = splitList(profile.skills);
  const places = drawPlaces(profile);
  return el(
    'div',
    { class: `profile ${family}` },
    pictures.picture(large || text(profile.cover_image), {
      kind: 'cover',
      seed: `${text(profile.username)} cover`,
      eager: true,
    }),
    drawPerson(family, profile, pictures),
    text(profile.bio) && el('p', { class: 'bio', dir: 'auto' }, text(profile.bio)),
    places.length > 0 && el('p', { class: 'places' }, ...places),
    skills.length > 0 &&
      el(
        'ul',
        { class: 'tags', 'aria-label': 'Skills' },
        ...skills.map((skill) => el('li', { dir: 'auto' }, skill)),
      ),
    drawCounts(COUNTS[family], profile),
  );
}

/** @param {Variant['family']} family @param {Data} profile @param {Pictures} pictures */
function drawPerson(family, profile, pictures) {
  const name = displayName(profile);
  const username = text(profile.username);
  const large = family === 'microblog' ? text(profile.avatar_large) : '';
  const verified = isSet(profile.verified);
  return el(
    'div',
    { class: 'person' },
    pictures.picture(large || text(profile.avatar), {
      kind: 'avatar',
      seed: username,
      initials: takeInitials(name),
      eager: true,
    }),
    el(
      'div',
      { class: 'names' },
      el(
        'h2',
        {},
        el('bdi', {}, name),
        verified &&
          el('span', { class: 'verified', role: 'img', 'aria-label': 'verified', title: 'verified' }),
      ),
      el(
        'p',
        { class: 'handle' },
        el('bdi', {}, `@${username}`),
        ' ',
        el('span', { class: 'number' }, `No. ${text(profile.id)}`),
      ),
    ),
  );
}

/** Location, country and links. @param {Data} profile @returns {Node[]} */
function drawPlaces(profile) {
  const location = text(profile.location);
  const country = text(profile.country).toUpperCase();
  return [
    location && el('span', { dir: 'auto' }, location),
    country && el('abbr', { title: countryName(country), class: 'country' }, country),
    siteLink(profile.website, 'Website'),
    siteLink(profile.social_link, 'Social page'),
  ].filter((part) => part instanceof Node);
}

/** @param {unknown} value */
const isSet = (value) => text(value) !== '' && text(value) !== '0';

/** Splits at Latin, Arabic and CJK commas. @param {unknown} value */
export const splitList = (value) =>
  text(value)
    .split(/[,،、]/)
    .map((word) => word.trim())
    .filter(Boolean)
    .slice(0, 24);

/** @param {unknown} value @param {string} label */
function siteLink(value, label) {
  const url = httpUrl(text(value));
  if (url === undefined) return undefined;
  const shown = `${url.host.replace(/^www\./, '')}${url.pathname.replace(/\/$/, '')}`;
  return externalLink(url.href, { title: label }, el('bdi', {}, shown));
}

/** @param {Record<string, string>} labels @param {Data} profile */
function drawCounts(labels, profile) {
  const cells = Object.entries(labels).map(([member, label]) => {
    const exact = text(profile[member]) || '0';
    return el('div', {}, el('dt', {}, label), el('dd', { title: exact }, compactNumber(exact)));
  });
  return el('dl', { class: 'counts' }, ...cells);
}

/** @param {string} digits */
function compactNumber(digits) {
  if (!/^\d{1,30}$/.test(digits)) return digits;
  const number = BigInt(digits);
  return number < 100_000n
    ? number.toLocaleString('en')
    : new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(number);
}

/** @param {string} code */
function countryName(code) {
  try {
    return new Intl.DisplayNames('en', { type: 'region' }).of(code) ?? code;
  } catch {
    return code;
  }
}
