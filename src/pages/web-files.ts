// The files of `src/pages/web`. Scripts and styles are sent as one file each: with a request for every module, the first view
// took 36 requests instead of 17, and on a phone's connection its largest paint came half a second later
// (test/pages/first-view.slow.test.ts).
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { packageFile } from '../config/package-files.ts';
import { HUES } from './web/shown.js';

const WEB = packageFile('src/pages/web');

export const readWeb = (name: string): string => readFileSync(join(WEB, name), 'utf8');
export const readWebBytes = (name: string): Buffer => readFileSync(join(WEB, name));

const IMPORT = /^import\s[^;]*?'(\.[^']+)';\n/gm;
const COMMENT = /^ *(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/|\/\/.*)\n/gm;

/** A script and everything it imports, each module once and before those that need it. Their names must differ. */
export function readScript(entry: string, seen = new Set<string>()): string {
  seen.add(entry);
  const text = readWeb(entry);
  const imported = [...text.matchAll(IMPORT)]
    .map(([, path = '']) => normalize(join(dirname(entry), path)))
    .map((name) => (seen.has(name) ? '' : readScript(name, seen)));
  return imported.join('') + withoutComments(text.replace(IMPORT, '')).replace(/^export /gm, '');
}

/** A script as visitors load it. What a plain block comment says is for them and stays. */
const withoutComments = (script: string): string => script.replace(COMMENT, '');

/** Styles as visitors load them, without comments and indentation: a fifth less when compressed. */
export const readStyles = (...names: string[]): string =>
  names
    .map(readWeb)
    .join('')
    .replace(/\/\*[\s\S]*?\*\/|^\s+/gm, '');

/** A rule for each hue of what has no picture. */
export const hueStyles = (): string =>
  HUES.map(([from, to], hue) => `.hue-${hue} { --from: ${from}; --to: ${to}; }\n`).join('');
