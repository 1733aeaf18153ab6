// The files that copies of pictures are kept in: their types and names.

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

/** The pattern of a name: SHA-256 and extension. */
export const MEDIA_NAME = `^[0-9a-f]{64}\\.(?:${Object.keys(MEDIA_TYPES).join('|')})$`;

/** The type of the file with this name. */
export const mediaType = (name: string) => MEDIA_TYPES[name.slice(name.indexOf('.') + 1) as Extension];

/** Where a file lies in the folder. */
export const mediaPath = (name: string) => `${name.slice(0, 2)}/${name}`;
