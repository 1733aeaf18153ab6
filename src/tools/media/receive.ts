// The body of one file, on its way into the folder: its type is found out from its start, and it is hashed, counted and
// written as it comes, within the quota for all copies.

import { createHash } from 'node:crypto';
import { type Extension, MEDIA_TYPES } from '../../records/copy-files.ts';
import { keysOf } from '../../records/tables.ts';
import type { IncomingFile, MediaFolder } from '../../stores/media-folder.ts';
import type { BodyReader } from '../remote/http-client.ts';
import type { Quota } from './quota.ts';

/** A copy, or why there is none. */
export type ReceivedFile =
  | {
      readonly file: string;
      readonly bytes: number;
      /** Whether the folder had no such file before. */
      readonly isNew: boolean;
    }
  | { readonly reason: string; readonly kind: 'failed' };

/** `files`: whether other files than pictures are wanted. */
export const fileReceiver =
  (folder: MediaFolder, quota: Quota, files: boolean): BodyReader<ReceivedFile> =>
  async (chunks) => {
    const hash = createHash('sha256');
    let incoming: IncomingFile | undefined;
    let extension = '';
    let bytes = 0;
    let isKept = false;
    try {
      for await (const chunk of withHead(chunks)) {
        if (incoming === undefined) {
          const type = fileType(chunk, files);
          if (typeof type !== 'string') return { ...type, kind: 'failed' };
          extension = type;
          incoming = await folder.receive();
        }
        quota.take(chunk.length);
        bytes += chunk.length;
        hash.update(chunk);
        await incoming.write(chunk);
      }
      const file = `${hash.digest('hex')}.${extension}`;
      isKept = (await incoming?.keep(file)) ?? false;
      return { file, bytes, isNew: isKept };
    } finally {
      if (!isKept) quota.release(bytes);
      await incoming?.discard();
    }
  };

/** Chunks, of which the first is long enough to tell the type. */
async function* withHead(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const head: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    if (length >= HEAD_LENGTH) yield chunk;
    else {
      head.push(chunk);
      length += chunk.length;
      if (length >= HEAD_LENGTH) yield Buffer.concat(head);
    }
  }
  if (length < HEAD_LENGTH) yield Buffer.concat(head);
}

/** How many bytes from the start are enough to tell the type: an SVG may begin with comments. */
const HEAD_LENGTH = 16 * 1024;

/** Types that are not pictures. */
const FILES: readonly Extension[] = ['mp3', 'mp4', 'pdf'];

const SIGNATURES: Readonly<Record<Extension, (head: Buffer) => boolean>> = {
  jpg: (head) => starts(head, '\xff\xd8\xff'),
  png: (head) => starts(head, '\x89PNG\r\n\x1a\n'),
  gif: (head) => starts(head, 'GIF87a') || starts(head, 'GIF89a'),
  webp: (head) => starts(head, 'RIFF') && starts(head, 'WEBP', 8),
  avif: (head) => readBrands(head).some((brand) => brand === 'avif' || brand === 'avis'),
  svg: (head) => SVG.test(head.toString('utf8')),
  // An MPEG audio frame of layer III.
  mp3: (head) => starts(head, 'ID3') || /^\xff[\xe2\xe3\xf2\xf3\xfa\xfb]/.test(head.toString('latin1', 0, 2)),
  mp4: (head) => /^(iso[m2-9]|mp4[12]|avc1|dash|M4[ABV] |MSNV)$/.test(readBrands(head)[0] ?? ''),
  pdf: (head) => starts(head, '%PDF-'),
};

/** The type of a file that begins with these bytes, or why it is refused. Other files than pictures count on demand. */
export function fileType(head: Buffer, withFiles: boolean): Extension | { readonly reason: string } {
  if (head.length === 0) return { reason: 'empty' };
  const found = keysOf(SIGNATURES).find((extension) => SIGNATURES[extension](head));
  if (found === undefined) return { reason: describe(head) };
  if (FILES.includes(found) && !withFiles)
    return { reason: `not a picture, but ${MEDIA_TYPES[found]}, which --files fetches` };
  return found;
}

const starts = (head: Buffer, bytes: string, at = 0) =>
  head.toString('latin1', at, at + bytes.length) === bytes;

/** The brands in the first box of an ISO base media file; the first of them is the major one. */
function readBrands(head: Buffer): string[] {
  if (head.length < 16 || !starts(head, 'ftyp', 4)) return [];
  const box = head.toString('latin1', 8, Math.min(head.readUInt32BE(0), head.length));
  // The version is between the major brand and the others.
  return box.match(/.{4}/gs)?.filter((_, index) => index !== 1) ?? [];
}

/** An SVG element, after what may stand before the root: each character can be read in one way only, so no text takes long. */
const SVG =
  /^\ufeff?(?:\s|<\?(?:(?!\?>)[\s\S])*\?>|<!--(?:(?!-->)[\s\S])*-->|<!DOCTYPE\s+svg\b[^[>]*(?:\[[^\]]*\]\s*)?>)*<(?:[A-Za-z][\w.-]*:)?svg[\s/>]/;

/** What hosts send most often in place of a picture. */
function describe(head: Buffer): string {
  const text = head.toString('utf8', 0, 1024);
  if (/^\ufeff?\s*<(!doctype html|html|head|body|!--)/i.test(text)) return 'not a picture, but a web page';
  if (/^\ufeff?\s*[[{]/.test(text)) return 'not a picture, but JSON';
  return 'not a picture of a known type';
}
