// The card as an image, for pages that run no script. An image cannot measure its text, so widths are estimated; fonts are
// those of the reader. An SVG inside <img> may load nothing: pictures that are not given are initials.

import type { Language } from '../languages/language.ts';
import { type Markup, markup } from '../markup.ts';
import { chooseHue, HUES, takeInitials } from '../web/shown.js';
import { type Item, itemTitle, type Person, personTitle, shortened } from './person.ts';

const WIDTH = 440;
const MARGIN = 24;
const INNER = WIDTH - 2 * MARGIN;
export const MOST_TILES = 6;
const MAX_POSTS = 3;

const STYLE = `text { font-family: 'Helvetica Neue', Helvetica, Arial, sans-serif; fill: #13201c }
.q { fill: #52625d } .back { fill: #fff; stroke: #d5dfdb } .ring { fill: #fff } .line { stroke: #d5dfdb }
.glass { fill: #0c6b5b } .on { stroke: #fff } .w { fill: #fff; font-weight: 600 } .b { font-weight: 700 }
@media (prefers-color-scheme: dark) { text { fill: #e9f0ee } .q { fill: #9fb1ab } .back { fill: #131a18; stroke: #27332f }
.ring { fill: #131a18 } .line { stroke: #27332f } .glass { fill: #67d3bd } .on { stroke: #08201a } .w { fill: #fff } }`;

/** A part of the image and how far down it reaches. */
interface Block {
  readonly drawn: Markup;
  readonly bottom: number;
}

/** As data: URLs. */
export interface CardPictures {
  readonly avatar?: string | undefined;
  readonly cover?: string | undefined;
  /** For each item, in their order. */
  readonly works?: readonly (string | undefined)[] | undefined;
}

export function cardImage(person: Person, language: Language, pictures: CardPictures = {}): string {
  const head = drawHead(person, language, pictures);
  const list =
    person.noun === 'shots'
      ? drawTiles(person, language, head.bottom, pictures.works ?? [])
      : drawPosts(person, language, head.bottom);
  const height = list.bottom + MARGIN;
  return markup`<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="t">
<title id="t">${personTitle(person)}</title>
<style>${STYLE}</style>
<defs><clipPath id="card"><rect width="${WIDTH}" height="${height}" rx="10"/></clipPath></defs>
<rect class="back" x=".5" y=".5" width="${WIDTH - 1}" height="${height - 1}" rx="10"/>
<g clip-path="url(#card)">${head.drawn}${list.drawn}</g>
</svg>
`.text;
}

function drawHead(person: Person, language: Language, { avatar, cover }: CardPictures): Block {
  const { name, username, bio, verified, counts } = person;
  const bioLines = wrapped(bio, 15, INNER, 3);
  // Beside the name, where it ends in one font, the mark would stand on it in another.
  const mark = markup`<g transform="translate(${MARGIN + 62} 110)"><circle class="ring" r="11"/><circle class="glass" r="9"/><path class="on" d="M-3.500 0l2.500 3 4.500-5.500" fill="none" stroke-width="2"/></g>`;
  const countsTop = 176 + bioLines.length * 21;
  const shownCounts = counts
    .slice(0, 2)
    .map(([name, digits]) => `${shownCount(digits, language)} ${language.words.counts[name]}`)
    .join('   ');
  const drawn = markup`${gradient('cover', `${username} cover`)}<rect width="${WIDTH}" height="84" fill="url(#cover)"/>${cover && markup`<image href="${cover}" width="${WIDTH}" height="84" preserveAspectRatio="xMidYMid slice"/>`}
${gradient('avatar', username)}<circle class="ring" cx="${MARGIN + 36}" cy="84" r="40"/><circle cx="${MARGIN + 36}" cy="84" r="36" fill="url(#avatar)"/>
<text class="w" x="${MARGIN + 36}" y="92" font-size="23" text-anchor="middle">${takeInitials(name)}</text>${avatar && picture(avatar)}
${verified && mark}
<text class="b" x="${MARGIN}" y="150" font-size="20">${clipped(name, 20, INNER)}</text>
<text class="q" x="${MARGIN}" y="171" font-size="13">${clipped(`@${username}`, 13, INNER)}</text>
${bioLines.map((line, index) => markup`<text x="${MARGIN}" y="${197 + index * 21}" font-size="15">${line}</text>`)}
<text class="q" x="${MARGIN}" y="${countsTop + 24}" font-size="13" xml:space="preserve">${shownCounts}</text>`;
  return { drawn, bottom: countsTop + 32 };
}

const shownCount = (digits: string, language: Language): string =>
  /^\d{1,30}$/.test(digits) ? language.number(BigInt(digits)) : clipped(digits || '0', 13, INNER / 3);

/** In the circle of the initials, which stay visible where the picture cannot be shown. */
const picture = (avatar: string) => markup`
<clipPath id="round"><circle cx="${MARGIN + 36}" cy="84" r="36"/></clipPath>
<image href="${avatar}" x="${MARGIN}" y="48" width="72" height="72" preserveAspectRatio="xMidYMid slice" clip-path="url(#round)"/>`;

/** Shots as tiles, three in a row. */
function drawTiles(
  { items }: Person,
  { words }: Language,
  top: number,
  works: readonly (string | undefined)[],
): Block {
  const shown = items.slice(0, MOST_TILES);
  const gap = 12;
  const width = Math.floor((INNER - 2 * gap) / 3);
  const height = Math.round(width * 0.75);
  const tiles = shown.map((item, index) => {
    const { id } = item;
    const title = item.title || words.untitled;
    const x = MARGIN + (index % 3) * (width + gap);
    const y = top + 12 + Math.floor(index / 3) * (height + 34);
    const place = markup`x="${x}" y="${y}" width="${width}" height="${height}"`;
    const work = works[index];
    return markup`${gradient(`tile${index}`, `${title} ${id}`)}<rect ${place} rx="4" fill="url(#tile${index})"/>
<text class="w" x="${x + width / 2}" y="${y + height / 2 + 7}" font-size="20" text-anchor="middle">${takeInitials(title)}</text>${work && drawWork(work, `work${index}`, place)}
<text x="${x}" y="${y + height + 17}" font-size="12">${clipped(title, 12, width)}</text>`;
  });
  const rows = Math.ceil(shown.length / 3);
  return { drawn: markup`${tiles}`, bottom: top + (rows === 0 ? 0 : rows * (height + 34) - 2) };
}

/** Over the initials, which stay visible where the picture cannot be shown. */
const drawWork = (work: string, id: string, place: Markup) => markup`
<clipPath id="${id}"><rect ${place} rx="4"/></clipPath><image href="${work}" ${place} preserveAspectRatio="xMidYMid slice" clip-path="url(#${id})"/>`;

/** Posts as two lines each, with their date. */
function drawPosts({ items }: Person, language: Language, top: number): Block {
  let y = top + 8;
  const posts = items.slice(0, MAX_POSTS).map((item: Item) => {
    const { text, date } = item;
    const lines = wrapped(text || itemTitle(item, 'posts', language), 14, INNER, 2);
    const drawn = markup`<path class="line" d="M${MARGIN} ${y}h${INNER}"/>
${lines.map((line, index) => markup`<text x="${MARGIN}" y="${y + 24 + index * 20}" font-size="14">${line}</text>`)}
<text class="q" x="${MARGIN}" y="${y + 24 + lines.length * 20}" font-size="12">${language.date(date) ?? language.words.undated}</text>`;
    y += 38 + lines.length * 20;
    return drawn;
  });
  return { drawn: markup`${posts}`, bottom: y - 8 };
}

/** The colours of a picture that is not there, the same as on the card. */
function gradient(id: string, seed: string): Markup {
  const [from, to] = HUES[chooseHue(seed)] ?? HUES[0];
  return markup`<linearGradient id="${id}" x2="1" y2="1"><stop stop-color="${from}"/><stop offset="1" stop-color="${to}"/></linearGradient>`;
}

/** How wide a character is, as a share of the size of the text. */
const WIDTHS: readonly [kind: RegExp, em: number][] = [
  [/\p{Extended_Pictographic}/u, 1.3],
  [/[\u2e80-\uffff]/, 1],
  [/[\p{Lu}mwMW@%&]/u, 0.76],
  [/[ilj.,;:'|! ]/, 0.3],
];
const OTHER_WIDTH = 0.58;

/** An estimate in pixels, rather too wide than too narrow. */
function estimateWidth(text: string, size: number): number {
  let em = 0;
  for (const character of text) em += WIDTHS.find(([kind]) => kind.test(character))?.[1] ?? OTHER_WIDTH;
  return em * size;
}

/** The text on one line of this width. */
function clipped(text: string, size: number, width: number): string {
  const line = shortened(text, 200);
  if (estimateWidth(line, size) <= width) return line;
  return `${fitting(line, size, width - size).trimEnd()}…`;
}

/** The text on lines of this width; the last one ends with an ellipsis if there is more. */
function wrapped(text: string, size: number, width: number, most: number): string[] {
  const lines: string[] = [];
  let rest = shortened(text, 1000);
  while (rest !== '') {
    if (lines.length === most - 1 || estimateWidth(rest, size) <= width) {
      lines.push(clipped(rest, size, width));
      break;
    }
    const line = takeLine(rest, size, width);
    lines.push(line.trimEnd());
    rest = rest.slice(line.length).trimStart();
  }
  return lines;
}

/** As many words as fit, or as many characters of a word that fits no line. */
function takeLine(text: string, size: number, width: number): string {
  const line = fitting(text, size, width);
  const space = line.lastIndexOf(' ');
  return space > 0 ? line.slice(0, space + 1) : line;
}

/** The beginning of the text that takes at most this width. */
function fitting(text: string, size: number, width: number): string {
  let [taken, end] = [0, 0];
  for (const character of text) {
    taken += estimateWidth(character, size);
    if (taken > width) break;
    end += character.length;
  }
  return text.slice(0, end);
}
