// The functions of CloudFront for a published site that lies in S3, and a script that uploads it.
import { extname } from 'node:path';
import { OutputError } from '../files/output.ts';
import { lines } from '../print/deployment.ts';
import { errorTable, program, routeTable } from './program.ts';
import { findKind, type Site } from './tables.ts';

/** docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html, "Quotas on CloudFront Functions". */
const BYTES_OF_FUNCTION = 10_240;

/** The function for viewer responses: adds the headers that S3 does not keep. */
const ADD_HEADERS = `
function handler(event) {
  const response = event.response;
  const set = response.headers['x-amz-meta-headers'];
  const own = Object.assign({}, set && SITE.headers[set.value]);
  Object.keys(own).forEach((name) => {
    response.headers[name] = { value: own[name] };
  });
  delete response.headers['x-amz-meta-headers'];
  return response;
}
`;

export function s3(site: Site) {
  const sets = listHeaderSets(site).map((set) => JSON.parse(set));
  const functions = {
    'request.js': program({ ...routeTable(site), ...errorTable(site) }, 'router.js', 'cloudfront-request.js'),
    'response.js': program({ headers: sets }) + ADD_HEADERS,
  };
  const large = Object.values(functions).find((text) => Buffer.byteLength(text) > BYTES_OF_FUNCTION);
  if (large !== undefined)
    throw new OutputError(
      `a function at CloudFront takes ${BYTES_OF_FUNCTION} bytes, and this needs ${Buffer.byteLength(large)}: publish fewer variants, or for another host`,
    );
  return { ...functions, 'upload.sh': upload(site) };
}

/** The different sets of headers, as JSON: each file names its set by the number. */
const listHeaderSets = ({ headers: { folders } }: Site) => [
  ...new Set([...folders.values()].map((own) => JSON.stringify(own))),
];

/** What a folder's files have in common is uploaded with them: S3 keeps these headers, and a number for the others. */
function upload(site: Site): string {
  const { headers, targets } = site;
  const sets = listHeaderSets(site);
  const patterns = new Map<string, readonly [set: string, type: string, caching: string]>([
    ['errors/*.json', ['', headers.types.get('json') ?? '', 'max-age=5']],
  ]);
  for (const { file = '' } of targets) {
    const kind = findKind(file, headers.folders);
    const own = headers.folders.get(kind);
    const type = headers.types.get(extname(file).slice(1)) ?? 'application/octet-stream';
    const pattern = file.includes('$') ? `${kind}/*${extname(file)}` : file;
    if (own === undefined) continue;
    const set = String(sets.indexOf(JSON.stringify(own)));
    patterns.set(pattern, [set, type, own['cache-control'] ?? 'no-cache']);
  }
  const rows = [...patterns].map((row) => `put ${row.flat().map(quote).join(' ')}`);
  return `#!/bin/sh
# Uploads what changed, and removes what is gone: sh upload.sh s3://BUCKET
set -eu
bucket=\${1:?run: sh upload.sh s3://BUCKET}
cd "$(dirname "$0")/files"
put() {
    aws s3 sync . "$bucket" --exclude '*' --include "$1" --metadata "headers=$2" --content-type "$3" --cache-control "$4"
}
${lines(rows)}aws s3 sync . "$bucket" --delete
`;
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
