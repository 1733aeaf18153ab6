// The picture in link previews of people who have none that can be shown: frames on a wall, in the colour of the site. It is the
// same for all of them, so no takedown has to know it.
import { crc32, deflateSync } from 'node:zlib';

/** Below the server's root. */
export const PREVIEW_PICTURE = 'preview.png';
/** As link previews want it. */
export const PREVIEW_SIZE = { width: 1200, height: 630 };

const WALL = 0xe7edeb;
const FLOOR = 0xd3ddda;
const MAT = 0xffffff;

const FRAMES = [
  [115, 120, 260, 340],
  [445, 170, 390, 270],
  [905, 215, 180, 180],
] as const;
const FRAME_WIDTH = 10;
const MAT_WIDTH = 36;
const FLOOR_HEIGHT = 90;

/** `accent` is `#rrggbb`. Indexes of colours, a byte each, pack to 4 KB. */
export function drawPreviewPicture(accent: string): Buffer {
  const { width, height } = PREVIEW_SIZE;
  const frame = Number.parseInt(accent.slice(1), 16);
  const colors = [WALL, FLOOR, MAT, frame, halfway(frame, WALL)];
  // Each row begins with the number of its filter: none.
  const rows = Buffer.alloc((width + 1) * height);
  const fill = (x: number, y: number, wide: number, high: number, color: number) => {
    for (let row = y; row < y + high; row++) {
      const start = row * (width + 1) + 1 + x;
      rows.fill(colors.indexOf(color), start, start + wide);
    }
  };
  fill(0, height - FLOOR_HEIGHT, width, FLOOR_HEIGHT, FLOOR);
  for (const [x, y, wide, high] of FRAMES)
    for (const [inset, color] of [
      [0, frame],
      [FRAME_WIDTH, MAT],
      [FRAME_WIDTH + MAT_WIDTH, halfway(frame, WALL)],
    ] as const)
      fill(x + inset, y + inset, wide - 2 * inset, high - 2 * inset, color);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    // 8 bits, indexed.
    chunk('IHDR', Buffer.from([...uint32(width), ...uint32(height), 8, 3, 0, 0, 0])),
    chunk('PLTE', Buffer.from(colors.flatMap((color) => uint32(color).slice(1)))),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const uint32 = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff);

/** Half of each part of the colours. */
const halfway = (one: number, other: number) => ((one >>> 1) & 0x7f7f7f) + ((other >>> 1) & 0x7f7f7f);

function chunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), content]);
  return Buffer.concat([Buffer.from(uint32(content.length)), body, Buffer.from(uint32(crc32(body)))]);
}
