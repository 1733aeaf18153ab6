// Which members of a record lead to a picture, or to another file.
import type { KindName } from './kinds.ts';

export const PICTURE_MEMBERS: Readonly<Record<KindName, readonly string[]>> = {
  'microblog profile': ['avatar', 'avatar_large', 'cover_image', 'cover_large'],
  post: ['photo', 'video_thumbnail', 'thumbnail_song'],
  'portfolio profile': ['avatar', 'cover_image'],
  shot: ['image', 'large_image'],
};

export const FILE_MEMBERS: Readonly<Record<KindName, readonly string[]>> = {
  'microblog profile': [],
  post: ['url_audio'],
  'portfolio profile': [],
  shot: ['attachment'],
};
