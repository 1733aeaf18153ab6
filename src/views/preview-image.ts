// A person as an SVG of the size that link previews show, with the letters of our fonts only: a preview that messengers get
// is a picture, and a letter that no font has would be a box in it.
import { clipped, gradient, grouped, widthOf, wrapped } from './card-image.ts';
import { type Markup, markup } from './markup.ts';
import { initialsOf, type Person, shortened, writtenDate } from './person.ts';

export const PREVIEW = { width: 1200, height: 630 } as const;
const MARGIN = 64;
const INNER = PREVIEW.width - 2 * MARGIN;
const TOP = 150;
const MOST_TILES = 6;
/** How much wider our fonts are than the estimate of the card's. */
const [WIDE, BOLD] = [1.1, 1.25];

/** Leaves out what cannot be shown. */
type Shown = (text: string) => string;

export function previewImage(person: Person, site: string, shown: Shown): string {
  const { username, verified, counts } = person;
  const handle = `@${shown(username)}`;
  const name = clipped(shown(person.name) || shown(username), 60 * BOLD, INNER - 220);
  const words = wrapped(shown(shortened(person.bio, 300)), 30 * WIDE, INNER, 2);
  const numbers = counts
    .slice(0, 2)
    .filter(([, digits]) => /[1-9]/.test(digits))
    .map(([label, digits]) => `${grouped(digits)} ${label.toLowerCase()}`);
  const left = MARGIN + 220;
  return markup`<svg xmlns="http://www.w3.org/2000/svg" width="${PREVIEW.width}" height="${PREVIEW.height}" viewBox="0 0 ${PREVIEW.width} ${PREVIEW.height}" font-family="DejaVu Sans" fill="#13201c">
<rect width="100%" height="100%" fill="#ffffff"/>
${gradient('cover', `${username} cover`)}<rect width="100%" height="${TOP}" fill="url(#cover)"/>
${gradient('avatar', username)}<circle cx="${MARGIN + 90}" cy="${TOP + 20}" r="98" fill="#ffffff"/><circle cx="${MARGIN + 90}" cy="${TOP + 20}" r="90" fill="url(#avatar)"/>
<text x="${MARGIN + 90}" y="${TOP + 42}" font-size="62" font-weight="700" fill="#ffffff" text-anchor="middle">${shown(initialsOf(person.name))}</text>
<text x="${left}" y="${TOP + 76}" font-size="60" font-weight="700">${name}</text>
${verified && markup`<g transform="translate(${Math.min(left + widthOf(name, 60 * BOLD) + 34, PREVIEW.width - MARGIN)} ${TOP + 56})"><circle r="20" fill="#0c6b5b"/><path d="M-9 0l6 8 11-14" fill="none" stroke="#ffffff" stroke-width="5"/></g>`}
<text x="${left}" y="${TOP + 122}" font-size="30" fill="#52625d">${clipped([handle, ...numbers].join('  ·  '), 30 * WIDE, INNER - 220)}</text>
${words.map((line, nth) => markup`<text x="${MARGIN}" y="${TOP + 196 + nth * 44}" font-size="30">${line}</text>`)}
${person.noun === 'shots' ? tiles(person, shown) : posts(person, shown)}
<rect y="${PREVIEW.height - 10}" width="100%" height="10" fill="#0c6b5b"/>
<text x="${PREVIEW.width - MARGIN}" y="${PREVIEW.height - 26}" font-size="22" fill="#52625d" text-anchor="end">${shown(site)}</text>
</svg>`.text;
}

function tiles({ items }: Person, shown: Shown): Markup {
  const gap = 20;
  const width = (INNER - (MOST_TILES - 1) * gap) / MOST_TILES;
  const height = width * 0.75;
  const y = PREVIEW.height - height - 66;
  return markup`${items.slice(0, MOST_TILES).map(({ id, title }, nth) => {
    const x = MARGIN + nth * (width + gap);
    return markup`${gradient(`tile${nth}`, `${title} ${id}`)}<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="url(#tile${nth})"/>
<text x="${x + width / 2}" y="${y + height / 2 + 13}" font-size="36" font-weight="700" fill="#ffffff" text-anchor="middle">${shown(initialsOf(title))}</text>
`;
  })}`;
}

function posts({ items }: Person, shown: Shown): Markup | undefined {
  const [newest] = items;
  if (newest === undefined) return undefined;
  const y = TOP + 300;
  const lines = wrapped(shown(shortened(newest.text, 400)), 26 * WIDE, INNER - 40, 3);
  return markup`<rect x="${MARGIN}" y="${y - 26}" width="6" height="${lines.length * 38 + 34}" fill="#0c6b5b"/>
${lines.map((line, nth) => markup`<text x="${MARGIN + 32}" y="${y + nth * 38}" font-size="26">${line}</text>`)}
<text x="${MARGIN + 32}" y="${y + lines.length * 38}" font-size="22" fill="#52625d">${writtenDate(newest.date)}</text>`;
}
