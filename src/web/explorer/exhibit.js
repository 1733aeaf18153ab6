// @ts-check
// The profile and its items, as a site of that kind would draw them.
import { away, el, text, webAddress } from './dom.js';
import { initialsOf } from './pictures.js';

/** @typedef {Record<string, unknown>} Data */
/** @typedef {import('./pictures.js').Pictures} Pictures */

const MICROBLOG_COUNTS = {
  totalPost: 'Posts',
  totalFollowers: 'Followers',
  totalFollowing: 'Following',
  totalFavs: 'Favourites',
};
const PORTFOLIO_COUNTS = {
  totalShots: 'Shots',
  totalFollowers: 'Followers',
  totalFollowing: 'Following',
  Likes: 'Likes',
  Projects: 'Projects',
  Lists: 'Lists',
  Listed: 'Listed',
};

/** @param {Data} profile */
export const titleOf = (profile) => visible(profile.name) || text(profile.username);

/** @param {'a' | 'b' | 'c'} variant @param {Data} profile @param {Pictures} pictures */
export function drawProfile(variant, profile, pictures) {
  const name = titleOf(profile);
  const seed = text(profile.username);
  const microblog = variant === 'a';
  const avatar = (microblog && text(profile.avatar_large)) || text(profile.avatar);
  const cover = (microblog && text(profile.cover_large)) || text(profile.cover_image);
  const skills = listed(profile.skills);
  const country = text(profile.country).toUpperCase();
  const places = [
    text(profile.location) && el('span', { dir: 'auto' }, text(profile.location)),
    country && el('abbr', { title: countryName(country), class: 'country' }, country),
    site(profile.website, 'Website'),
    site(profile.social_link, 'Social page'),
  ].filter(Boolean);
  return el(
    'div',
    { class: `profile ${microblog ? 'microblog' : 'portfolio'}` },
    pictures.picture(cover, { kind: 'cover', seed: `${seed} cover`, eager: true }),
    el(
      'div',
      { class: 'person' },
      pictures.picture(avatar, { kind: 'avatar', seed, initials: initialsOf(name), eager: true }),
      el(
        'div',
        { class: 'names' },
        el(
          'h2',
          {},
          el('bdi', {}, name),
          flagged(profile.verified) &&
            el('span', { class: 'verified', role: 'img', 'aria-label': 'verified', title: 'verified' }),
        ),
        el(
          'p',
          { class: 'handle' },
          el('bdi', {}, `@${seed}`),
          ' ',
          el('span', { class: 'number' }, `No. ${text(profile.id)}`),
        ),
      ),
    ),
    text(profile.bio) && el('p', { class: 'bio', dir: 'auto' }, text(profile.bio)),
    places.length > 0 && el('p', { class: 'places' }, .../** @type {Node[]} */ (places)),
    skills.length > 0 &&
      el(
        'ul',
        { class: 'tags', 'aria-label': 'Skills' },
        ...skills.map((skill) => el('li', { dir: 'auto' }, skill)),
      ),
    counts(microblog ? MICROBLOG_COUNTS : PORTFOLIO_COUNTS, profile),
  );
}

/** @param {'a' | 'b' | 'c'} variant @param {Data} profile @param {Data[]} items @param {Pictures} pictures */
export function drawItems(variant, profile, items, pictures) {
  const word = variant === 'a' ? 'posts' : 'shots';
  if (items.length === 0)
    return el(
      'div',
      { class: 'nothing' },
      el('h3', {}, `No ${word} yet`),
      el('p', {}, 'The list is there, and it is empty.'),
    );
  const draw = variant === 'a' ? drawPost : drawShot;
  return el(
    'div',
    { class: word },
    el('h3', { class: 'unseen' }, `Latest ${word}`),
    el(
      'ol',
      { class: variant === 'a' ? 'timeline' : 'grid' },
      ...items.map((item) => el('li', {}, draw(item, profile, pictures))),
    ),
  );
}

/** @param {Data} post @param {Data} profile @param {Pictures} pictures */
function drawPost(post, profile, pictures) {
  const name = titleOf(profile);
  const [photo, video, audio] = [post.photo, post.video_url, post.url_audio].map(text);
  const videoTitle = visible(post.video_title);
  const audioTitle = visible(post.title_audio);
  return el(
    'article',
    { class: 'post' },
    pictures.picture(text(profile.avatar), {
      kind: 'avatar tiny',
      seed: text(profile.username),
      initials: initialsOf(name),
    }),
    el(
      'div',
      { class: 'post-body' },
      el('p', { class: 'byline' }, el('bdi', { class: 'author' }, name), ' ', when(post.date)),
      el('p', { class: 'post-text', dir: 'auto' }, text(post.post_details)),
      photo &&
        away(
          photo,
          { class: 'photo', 'aria-label': 'Open the photo' },
          pictures.picture(photo, { kind: 'wide', seed: text(post.id), alt: 'Photo' }),
        ),
      (video || videoTitle) &&
        away(
          video,
          { class: 'medium video' },
          pictures.picture(text(post.video_thumbnail), { kind: 'thumb', seed: `video ${text(post.id)}` }),
          el(
            'span',
            { class: 'medium-words' },
            el('bdi', { class: 'medium-title' }, videoTitle || 'Video'),
            el(
              'span',
              { class: 'medium-note' },
              ['Video', text(post.video_site)].filter(Boolean).join(' · '),
            ),
          ),
        ),
      (audio || audioTitle) &&
        away(
          audio,
          { class: 'medium audio' },
          pictures.picture(text(post.thumbnail_song), {
            kind: 'thumb square',
            seed: `audio ${text(post.id)}`,
          }),
          el(
            'span',
            { class: 'medium-words' },
            el('bdi', { class: 'medium-title' }, audioTitle || 'Audio'),
            el('span', { class: 'medium-note' }, 'Audio'),
          ),
        ),
    ),
  );
}

/** @param {Data} shot @param {Data} _profile @param {Pictures} pictures */
function drawShot(shot, _profile, pictures) {
  const title = visible(shot.title);
  const price = text(shot.price_item);
  const large = pictures.sourceOf(text(shot.large_image)) ?? text(shot.large_image);
  const [bought, attached] = [text(shot.url_purchased), text(shot.attachment)];
  const project = text(shot.id_project);
  const picture = pictures.picture(text(shot.image), {
    kind: 'tile',
    seed: `${title} ${text(shot.id)}`,
    alt: title || 'Shot',
    initials: initialsOf(title),
  });
  const links = [
    webAddress(bought) && away(bought, {}, 'Buy', unseen(` ${title}`)),
    webAddress(attached) && away(attached, {}, 'File', unseen(` of ${title}`)),
  ].filter(Boolean);
  return el(
    'article',
    { class: 'shot' },
    el(
      'div',
      { class: 'shot-frame' },
      away(large, { class: 'shot-link' }, picture),
      price && el('span', { class: 'price' }, unseen('Price: '), el('bdi', {}, price)),
    ),
    el('h4', { dir: 'auto' }, title || 'Untitled'),
    text(shot.description) && el('p', { class: 'shot-words', dir: 'auto' }, text(shot.description)),
    listed(shot.tags).length > 0 &&
      el(
        'ul',
        { class: 'tags quiet', 'aria-label': 'Tags' },
        ...listed(shot.tags).map((tag) => el('li', { dir: 'auto' }, tag)),
      ),
    el(
      'p',
      { class: 'shot-foot' },
      when(shot.date),
      project !== '' && project !== '0' && el('span', {}, `Project ${project}`),
      .../** @type {Node[]} */ (links),
    ),
  );
}

/** @param {string} words */
const unseen = (words) => el('span', { class: 'unseen' }, words);

/** A text with something to see in it; otherwise none. @param {unknown} value */
const visible = (value) => (/[\p{L}\p{N}\p{P}\p{S}]/u.test(text(value)) ? text(value) : '');

/** @param {unknown} value */
const flagged = (value) => text(value) !== '' && text(value) !== '0';

/** @param {unknown} value */
const listed = (value) =>
  text(value)
    .split(/[,،、]/)
    .map((word) => word.trim())
    .filter(Boolean)
    .slice(0, 24);

/** @param {unknown} value @param {string} label */
function site(value, label) {
  const url = webAddress(text(value));
  if (url === undefined) return undefined;
  const shown = `${url.host.replace(/^www\./, '')}${url.pathname.replace(/\/$/, '')}`;
  return away(url.href, { title: label }, el('bdi', {}, shown));
}

/** @param {Record<string, string>} words @param {Data} profile */
function counts(words, profile) {
  const cells = Object.entries(words).map(([member, word]) => {
    const exact = text(profile[member]) || '0';
    return el('div', {}, el('dt', {}, word), el('dd', { title: exact }, short(exact)));
  });
  return el('dl', { class: 'counts' }, ...cells);
}

/** @param {string} digits */
function short(digits) {
  if (!/^\d{1,30}$/.test(digits)) return digits;
  const number = BigInt(digits);
  return number < 100_000n
    ? number.toLocaleString('en')
    : new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(number);
}

/** @param {unknown} value */
function when(value) {
  const stamp = text(value);
  const date = new Date(`${stamp.replace(' ', 'T')}Z`);
  if (Number.isNaN(date.getTime())) return el('span', { class: 'when' }, stamp);
  const shown = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }).format(date);
  return el('time', { class: 'when', datetime: stamp, title: stamp }, shown);
}

/** @param {string} code */
function countryName(code) {
  try {
    return new Intl.DisplayNames('en', { type: 'region' }).of(code) ?? code;
  } catch {
    return code;
  }
}
