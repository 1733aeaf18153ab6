// Whether a client takes gzip (Accept-Encoding, RFC 9110, 12.5.3), and the ETags of a body and of its compressed form.

/** Weights by coding; 0 refuses one. */
function readWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    // What is no weight refuses, which is safe: every client takes the plain body.
    if (coding !== '')
      weights.set(coding, /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0);
  }
  return weights;
}

function decide(header: string): boolean {
  const weights = readWeights(header);
  const any = weights.get('*');
  const gzip = weights.get('gzip') ?? weights.get('x-gzip') ?? any;
  const identity = weights.get('identity') ?? (any === 0 ? 0 : undefined);
  // Where nothing is said of the plain body, it is the last choice.
  return gzip === undefined ? identity === 0 && any !== 0 : gzip > 0 && gzip >= (identity ?? 0);
}

const MANY = 100;
const decided = new Map<string, boolean>();

/** Whether to send gzip. A client that says nothing gets the plain body. */
export function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  const known = decided.get(header);
  if (known !== undefined) return known;
  if (decided.size >= MANY) decided.clear();
  const accepts = decide(header);
  decided.set(header, accepts);
  return accepts;
}

const SUFFIX = '-gzip"';

/** The ETag of the compressed form. */
export const gzipEtag = (etag: string) => etag.slice(0, -1) + SUFFIX;

/** ETags of compressed forms as those of the plain ones: a client that has either has the data. */
export const plainEtags = (ifNoneMatch: string | undefined) => ifNoneMatch?.replaceAll(SUFFIX, '"');
