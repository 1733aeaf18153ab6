// The ETag of a stored text: a hash of its bytes and nothing else, so it is the same in every process and store.
import { hash } from 'node:crypto';

/** As many base64url characters as 132 bits need: more than enough never to meet a collision. */
const LENGTH = 22;

export const computeEtag = (text: string | Buffer): string =>
  `"${hash('sha256', text, 'base64url').slice(0, LENGTH)}"`;

/** The ETag of what is made of several texts. Theirs have no dot. */
export const joinEtags = (...tags: readonly string[]): string => `"${tags.join('.').replaceAll('"', '')}"`;
