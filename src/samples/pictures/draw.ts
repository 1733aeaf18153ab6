// The sample users' pictures, drawn from nothing but their names: the same name, the same picture.
import { type Brush, brushFor } from './ink.ts';
import { sleeve } from './patterns.ts';
import { portrait } from './portraits.ts';
import { shot } from './prints.ts';
import { cover, photo, still } from './scenes.ts';

interface Kind {
  readonly width: number;
  readonly height: number;
  readonly draw: (brush: Brush) => string;
}

const KINDS: Record<string, Kind> = {
  avatar: { width: 400, height: 400, draw: portrait },
  cover: { width: 1500, height: 500, draw: cover },
  photo: { width: 1200, height: 800, draw: photo },
  video: { width: 1280, height: 720, draw: still },
  song: { width: 600, height: 600, draw: sleeve },
  shot: { width: 800, height: 600, draw: shot },
};

/** Such as `avatar-ada-large`, `photo-1004`, `shot-222`. */
const NAME =
  /^(?:(avatar|cover)-([a-z0-9]{1,24}(?:-[a-z0-9]{1,24}){0,3}?)|(photo|video|song|shot)-([1-9]\d{0,18}))(-large)?$/;

/** The picture as SVG; undefined when no picture can have this name. */
export function samplePicture(name: string): string | undefined {
  const [whole, person, slug, work, id, large] = NAME.exec(name) ?? [];
  if (whole === undefined) return undefined;
  const kind = (person ?? work) as string;
  const { width, height, draw } = KINDS[kind] as Kind;
  const scale = large === undefined ? 0.5 : 1;
  const drawn = draw(brushFor(`${kind}-${slug ?? id}`));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width * scale}" height="${height * scale}" viewBox="0 0 ${width} ${height}">${drawn}</svg>`;
}
