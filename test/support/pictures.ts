// The smallest files of each type, told apart by a text at their end.
import { createHash } from 'node:crypto';

const bytes = (start: string, text: string) =>
  Buffer.concat([Buffer.from(start, 'latin1'), Buffer.from(text)]);

export const png = (text = '') => bytes('\x89PNG\r\n\x1a\n', text);
export const jpeg = (text = '') => bytes('\xff\xd8\xff\xe0', text);
export const gif = (text = '') => bytes('GIF89a', text);
export const webp = (text = '') => bytes('RIFF\x10\0\0\0WEBPVP8 ', text);
export const avif = (text = '') => bytes('\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf', text);
export const svg = (text = '') => Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${text}</svg>`);
export const mp3 = (text = '') => bytes('ID3\x04\0\0\0\0\0\0', text);
export const mp4 = (text = '') => bytes('\0\0\0\x18ftypisom\0\0\x02\0isommp42', text);
export const pdf = (text = '') => Buffer.from(`%PDF-1.7\n${text}`);

export const sha256 = (body: Buffer | string) => createHash('sha256').update(body).digest('hex');
