// Draws the requests per second of one core's time as an SVG for light and dark pages.
import { ABOUT, type Group } from './rows.ts';
import { type Measured, medianOf } from './sampling.ts';

const SHOWN: readonly Group[] = ['items', 'profile'];
const WIDTH = 800;
const LABELS = 292;
const BARS = 400;
const LINE = 30;
const TITLE = 58;

const STYLE = `
  text { font: 14px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 15px }
  .quiet { fill: #59636e; font-size: 12.5px }
  .own { font-weight: 600 }
  rect { fill: #a9b4c0 }
  rect.own { fill: #0b7a75 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .quiet { fill: #9198a1 } rect { fill: #59636e } rect.own { fill: #35c4b5 }
  }`;

export function plot(measured: readonly Measured[]): string {
  const panels = SHOWN.map((group) => measured.filter((row) => row.group === group)).filter(
    (rows) => rows.length > 0,
  );
  let top = 0;
  const parts = panels.map((rows) => {
    const part = panel(rows, top);
    top += TITLE + rows.length * LINE + 14;
    return part;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" width="${WIDTH}" height="${top}" role="img" aria-label="Requests per second of CPU time, by server">
<style>${STYLE}
</style>
${parts.join('\n')}
</svg>
`;
}

function panel(rows: readonly Measured[], top: number): string {
  const perCore = rows.map((row) => 1e6 / medianOf(row, 'cpu'));
  const most = Math.max(...perCore);
  const bars = rows.map(({ name }, index) => {
    const rate = perCore[index] as number;
    const y = top + TITLE + index * LINE;
    const own = name.startsWith('Vitrine') ? ' class="own"' : '';
    const width = Math.max((rate / most) * BARS, 1).toFixed(1);
    return `<text x="${LABELS - 10}" y="${y + 15}" text-anchor="end"${own}>${escaped(name)}</text>
<rect x="${LABELS}" y="${y}" width="${width}" height="20" rx="3"${own}/>
<text x="${LABELS + Number(width) + 8}" y="${y + 15}"${own}>${rounded(rate).toLocaleString('en')}</text>`;
  });
  const title = rows[0] === undefined ? '' : ABOUT[rows[0].group].title;
  return `<text x="8" y="${top + 22}" class="title">${capitalised(title)}: requests per second of one core’s time</text>
<text x="8" y="${top + 41}" class="quiet">longer is better</text>
${bars.join('\n')}`;
}

/** Two digits are enough to compare. */
const rounded = (rate: number) => Number(rate.toPrecision(2));
const capitalised = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
