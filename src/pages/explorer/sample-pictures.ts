// The pictures of sample users.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFile } from '../../config/package-files.ts';

const FOLDER = packageFile('fixtures/pictures');

let files: ReadonlySet<string> | undefined;

/**
 * The picture with this file name, from static SVG files; undefined if there is none. Only names found in the folder are opened, so no
 * name leads out of it. SVG scales without loss, so `NAME-large.svg` is the same file as `NAME.svg`.
 */
export function samplePicture(name: string): Buffer | undefined {
  files ??= new Set(readdirSync(FOLDER));
  const file = name.replace(/-large\.svg$/, '.svg');
  return files.has(file) ? readFileSync(join(FOLDER, file)) : undefined;
}

// Those of generated users are drawn from the number and the size in their names.

const NAME = /^drawn-(\d{1,7})-(\d{1,4})x(\d{1,4})\.svg$/;
const SHAPES = 7;

/** The SVG with this file name; undefined if it is no such name. */
export function drawPicture(name: string): string | undefined {
  const [, number, width, height] = (NAME.exec(name) ?? []).map(Number);
  if (number === undefined || !width || !height) return undefined;
  const hue = (number * 137) % 360;
  const shapes = Array.from({ length: SHAPES }, (_, nth) => drawShape(number, nth, width, height));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><rect width="${width}" height="${height}" fill="hsl(${hue} 45% 82%)"/>${shapes.join('')}</svg>`;
}

function drawShape(number: number, nth: number, width: number, height: number): string {
  const mix = Math.imul(number * SHAPES + nth + 1, 0x9e3779b1) >>> 0;
  const [x, y] = [(mix >>> 4) % width, (mix >>> 14) % height];
  const size = 1 + Math.floor(Math.min(width, height) / (2 + (mix % 5)));
  const fill = `fill="hsl(${(number * 137 + nth * 40) % 360} 60% ${35 + (mix % 40)}%)" fill-opacity=".7"`;
  if (mix % 3 === 0) return `<circle cx="${x}" cy="${y}" r="${size}" ${fill}/>`;
  if (mix % 3 === 1) return `<rect x="${x}" y="${y}" width="${size * 2}" height="${size}" ${fill}/>`;
  return `<path d="M${x} ${y}l${size} ${size * 2}h-${size * 2}z" ${fill}/>`;
}
