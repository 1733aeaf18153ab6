// The items on a person's page: a gallery of shots, or a timeline of posts.
import { type Markup, markup } from './markup.ts';
import { type Extra, type Item, type Person, takeInitials, writtenDate } from './person.ts';
import { type PictureSource, picture } from './pictures.ts';

/** So many pictures are on the first screen of a wide window. */
const EAGER_PICTURES = 3;

export function personItems({ noun, items }: Person, source: PictureSource): Markup {
  if (items.length === 0) return markup`<p class="no-items"><bdi>No ${noun} yet.</bdi></p>`;
  const marks = distinctInitials(items);
  const drawn = items.map((item, nth) =>
    noun === 'shots' ? shot(item, nth, marks[nth] ?? '', source) : post(item, source),
  );
  return markup`<h2 class="visually-hidden">Latest ${noun}</h2>
      <ol class="${noun === 'shots' ? 'gallery' : 'timeline'}">${drawn}</ol>`;
}

function shot(item: Item, nth: number, initials: string, source: PictureSource): Markup {
  const { id, title, text, tags, price, extras } = item;
  const large = source(item.image);
  const isLarge = nth === 0 && large !== undefined;
  const url = isLarge ? item.image : item.smallImage;
  const [width, height] = isLarge ? [1200, 900] : [600, 450];
  const options = { kind: 'tile', width, height, seed: `${title} ${id}`, initials };
  const tile = (alt: string) =>
    picture(source(url), {
      ...options,
      alt,
      ...(nth < EAGER_PICTURES && { priority: nth === 0 ? ('high' as const) : ('eager' as const) }),
    });
  return markup`
        <li class="shot${isLarge && ' large'}" id="item-${id}">
          ${large ? markup`<a class="frame" href="${large}">${tile(`${title}, large picture`)}</a>` : markup`<span class="frame">${tile(title)}</span>`}
          <div class="label">
            <h3 dir="auto">${title}</h3>
            ${text && openable(text, 'words', title)}
            ${tags.length > 0 && markup`<ul class="tags quiet" aria-label="Tags">${tags.map((tag) => markup`<li dir="auto">${tag}</li>`)}</ul>`}
            <p class="foot">${when(item)}${price && markup` <span class="price"><span class="visually-hidden">Price: </span><bdi>${shownPrice(price)}</bdi></span>`}${extras.map(({ kind, url }) => markup` ${outside(url, markup`${kind}<span class="visually-hidden"> ${title}</span>`)}`)}</p>
          </div>
        </li>`;
}

const shownPrice = (price: string) => (/^0+([.,]0+)?$/.test(price) ? 'Free' : price);

function post(item: Item, source: PictureSource): Markup {
  const { id, text, extras } = item;
  const photo = item.smallImage;
  const image = source(photo);
  const isBrief = text.length < 90 && !photo && extras.length === 0;
  return markup`
        <li class="post" id="item-${id}">
          <p class="when-line"><a href="#item-${id}">${when(item)}</a></p>
          <div class="post-body">
            ${text && markup`<p class="words post-text${isBrief ? ' brief' : ''}" dir="auto">${text}</p>`}
            ${photo && markup`<a class="photo" href="${photo}" rel="noopener noreferrer nofollow">${picture(image, { kind: image ? 'wide' : 'wide bare', width: 900, height: 600, seed: id, alt: 'Photo' })}</a>`}
            ${extras.map((extra) => medium(extra, id, source))}
          </div>
        </li>`;
}

/** A link to a video or a song. */
function medium({ kind, url, title, thumbnail }: Extra, id: string, source: PictureSource): Markup {
  const isSong = kind === 'Audio';
  const size = isSong ? { width: 160, height: 160 } : { width: 320, height: 180 };
  const content = markup`${picture(source(thumbnail), { kind: isSong ? 'thumb square' : 'thumb', seed: `${kind} ${id}`, ...size })}
              <span class="medium-words"><bdi class="medium-title">${title || kind}</bdi> <span class="medium-note">${kind}</span></span>`;
  const name = `medium ${kind.toLowerCase()}`;
  return url ? outside(url, content, name) : markup`<span class="${name}">${content}</span>`;
}

/** A text that shows its first lines has a control that opens it, without a script. */
const LONG_WORDS = 200;
const LONG_BIO = 500;

export function openable(text: string, kind: 'words' | 'bio', of: string): Markup {
  const isLong =
    text.length > (kind === 'bio' ? LONG_BIO : LONG_WORDS) ||
    text.split('\n').length > (kind === 'bio' ? 8 : 4);
  return markup`<p class="${kind}${isLong && ' long-text'}" dir="auto">${text}</p>${
    isLong &&
    markup`
            <details class="more"><summary><span class="open">More<span class="visually-hidden"> of ${of}</span></span><span class="close">Less</span></summary></details>`
  }`;
}

const when = ({ date }: Item): Markup =>
  date.startsWith('1970-01-01T00:00:00')
    ? markup`<span>Undated</span>`
    : markup`<time datetime="${date}" title="${date.replace('T', ' ').replace('Z', ' UTC')}">${writtenDate(date)}</time>`;

export const outside = (url: string, content: Markup | string, name?: string): Markup =>
  markup`<a${name && markup` class="${name}"`} href="${url}" rel="noopener noreferrer nofollow">${content}</a>`;

/** Initials for each title; equal ones are numbered: LF, LF2, LF3. */
function distinctInitials(items: readonly Item[]): string[] {
  const counts = new Map<string, number>();
  return items.map(({ title }) => {
    const initials = takeInitials(title);
    const count = (counts.get(initials) ?? 0) + 1;
    counts.set(initials, count);
    return count > 1 || initials === '' ? `${initials}${count}` : initials;
  });
}
