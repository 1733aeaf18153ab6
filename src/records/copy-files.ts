// The files that copies of pictures are kept in: their types and names.

import { extname } from 'node:path';
import { hasKey } from './tables.ts';

export const MEDIA_TYPES = {
  jpg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  svg: 'image/svg+xml',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  pdf: 'application/pdf',
} as const;

export type Extension = keyof typeof MEDIA_TYPES;

/** The widths of the small WebP files that are made of a picture. */
export const SMALL_WIDTHS = [240, 480, 960, 2048] as const;

/** Whether a picture gets the small one of this width. The widest has the picture's own width where that is narrower. */
export function hasSmall(pictureWidth: number, width: number): boolean {
  const [widest, second] = SMALL_WIDTHS.toReversed();
  return pictureWidth > (width === widest ? (second ?? width) : width);
}

/** The pattern of a copy's name: SHA-256 and extension. */
export const COPY = `[0-9a-f]{64}\\.(?:${Object.keys(MEDIA_TYPES).join('|')})`;
export const COPY_NAME = `^${COPY}$`;
/** The same, or that of a small picture: SHA-256 of the copy, width and extension. */
export const COPY_FILE_NAME = `^(?:${COPY}|[0-9a-f]{64}-(?:${SMALL_WIDTHS.join('|')})\\.webp)$`;

/** The SHA-256 of a copy, from its name or that of one of its small pictures. */
export const copyHash = (name: string) => name.slice(0, 64);

/** The name of the small picture of this width. */
export const smallName = (name: string, width: number) => `${copyHash(name)}-${width}.webp`;

/** The type of the copy with this name, which must match COPY_FILE_NAME. */
export const copyType = (name: string) => MEDIA_TYPES[name.slice(name.indexOf('.') + 1) as Extension];

/** The type of a picture, film or sound with any name; undefined for other files. */
export function pictureType(name: string): string | undefined {
  const extension = extname(name).slice(1).toLowerCase().replace('jpeg', 'jpg');
  return extension !== 'pdf' && hasKey(MEDIA_TYPES, extension) ? MEDIA_TYPES[extension] : undefined;
}

/** Where a file lies in the folder. */
export const copyPath = (name: string) => `${name.slice(0, 2)}/${name}`;
