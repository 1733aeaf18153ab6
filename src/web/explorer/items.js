// @ts-check
// The items below the profile: a timeline of posts or a grid of shots.
import { el, externalLink, httpUrl, text, visibleText } from './dom.js';
import { distinctInitials, takeInitials } from './pictures.js';
import { displayName, splitList } from './profile.js';

/** @typedef {import('./profile.js').Data} Data */
/** @typedef {import('./pictures.js').Pictures} Pictures */
/** @typedef {import('./api.js').Variant} Variant */

/** @param {Variant} variant */
export const itemNoun = ({ family }) => (family === 'microblog' ? 'posts' : 'shots');

/** @param {Variant} variant @param {Data} profile @param {Data[]} items @param {Pictures} pictures */
export function drawItems(variant, profile, items, pictures) {
  const noun = itemNoun(variant);
  if (items.length === 0)
    return el(
      'div',
      { class: 'no-items' },
      el('h3', {}, `No ${noun} yet`),
      el('p', {}, 'The list is empty.'),
    );
  const timeline = variant.family === 'microblog';
  const initials = distinctInitials(items.map(({ title }) => visibleText(title)));
  const drawn = items.map((item, index) =>
    timeline ? drawPost(item, profile, pictures) : drawShot(item, initials[index] ?? '', pictures),
  );
  return el(
    'div',
    { class: noun },
    el('h3', { class: 'visually-hidden' }, `Latest ${noun}`),
    el('ol', { class: timeline ? 'timeline' : 'grid' }, ...drawn.map((item) => el('li', {}, item))),
  );
}

/** @param {Data} post @param {Data} profile @param {Pictures} pictures */
function drawPost(post, profile, pictures) {
  const name = displayName(profile);
  const photo = text(post.photo);
  return el(
    'article',
    { class: 'post' },
    pictures.picture(text(profile.avatar), {
      kind: 'avatar tiny',
      seed: text(profile.username),
      initials: takeInitials(name),
    }),
    el(
      'div',
      { class: 'post-body' },
      el('p', { class: 'byline' }, el('bdi', { class: 'author' }, name), ' ', drawDate(post.date)),
      el('p', { class: 'post-text', dir: 'auto' }, text(post.post_details)),
      photo &&
        externalLink(
          photo,
          { class: 'photo', 'aria-label': 'Open the photo' },
          pictures.picture(photo, { kind: 'wide', seed: text(post.id), alt: 'Photo' }),
        ),
      drawMedium('Video', pictures, {
        address: text(post.video_url),
        title: visibleText(post.video_title),
        thumbnail: text(post.video_thumbnail),
        seed: `video ${text(post.id)}`,
        note: text(post.video_site),
      }),
      drawMedium('Audio', pictures, {
        address: text(post.url_audio),
        title: visibleText(post.title_audio),
        thumbnail: text(post.thumbnail_song),
        seed: `audio ${text(post.id)}`,
      }),
    ),
  );
}

/**
 * A link to a video or a song; undefined if the post has none.
 * @param {'Video' | 'Audio'} kind @param {Pictures} pictures
 * @param {{ address: string, title: string, thumbnail: string, seed: string, note?: string }} medium
 */
function drawMedium(kind, pictures, { address, title, thumbnail, seed, note = '' }) {
  if (address === '' && title === '') return undefined;
  const notes = [kind, note].filter(Boolean).join(' · ');
  return externalLink(
    address,
    { class: `medium ${kind.toLowerCase()}` },
    pictures.picture(thumbnail, { kind: kind === 'Audio' ? 'thumb square' : 'thumb', seed }),
    el(
      'span',
      { class: 'medium-words' },
      el('bdi', { class: 'medium-title' }, title || kind),
      el('span', { class: 'medium-note' }, notes),
    ),
  );
}

/** @param {Data} shot @param {string} initials @param {Pictures} pictures */
function drawShot(shot, initials, pictures) {
  const title = visibleText(shot.title);
  const price = text(shot.price_item);
  const large = pictures.findSource(text(shot.large_image)) ?? text(shot.large_image);
  const picture = pictures.picture(text(shot.image), {
    kind: 'tile',
    seed: `${title} ${text(shot.id)}`,
    alt: title || 'Shot',
    initials,
  });
  const tags = splitList(shot.tags).map((tag) => el('li', { dir: 'auto' }, tag));
  return el(
    'article',
    { class: 'shot' },
    el(
      'div',
      { class: 'shot-frame' },
      externalLink(large, { class: 'shot-link' }, picture),
      price && el('span', { class: 'price', title: price }, hidden('Price: '), el('bdi', {}, price)),
    ),
    el('h4', { dir: 'auto' }, title || 'Untitled'),
    text(shot.description) && el('p', { class: 'shot-words', dir: 'auto' }, text(shot.description)),
    tags.length > 0 && el('ul', { class: 'tags quiet', 'aria-label': 'Tags' }, ...tags),
    drawShotFooter(shot, title),
  );
}

/** @param {Data} shot @param {string} title */
function drawShotFooter(shot, title) {
  const [shop, attachment, project] = [shot.url_purchased, shot.attachment, shot.id_project].map(text);
  return el(
    'p',
    { class: 'shot-foot' },
    drawDate(shot.date),
    project !== '' && project !== '0' && el('span', {}, `Project ${project}`),
    httpUrl(shop ?? '') && externalLink(shop ?? '', {}, 'Buy', hidden(` ${title}`)),
    httpUrl(attachment ?? '') && externalLink(attachment ?? '', {}, 'File', hidden(` of ${title}`)),
  );
}

/** Text for screen readers only. @param {string} words */
const hidden = (words) => el('span', { class: 'visually-hidden' }, words);

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** Without `Intl.DateTimeFormat`, which makes a first view on a phone 100 ms longer. @param {Date} date */
const formatDate = (date) => `${MONTHS[date.getUTCMonth()]} ${date.getUTCDate()}, ${date.getUTCFullYear()}`;

/** @param {unknown} value */
function drawDate(value) {
  const stamp = text(value);
  const date = new Date(`${stamp.replace(' ', 'T')}Z`);
  if (Number.isNaN(date.getTime())) return el('span', { class: 'when' }, stamp);
  const iso = date.toISOString();
  return el('time', { class: 'when', datetime: iso, title: `${stamp} UTC` }, formatDate(date));
}
