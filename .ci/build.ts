// Builds dist/, which the package and the image run: src/ and the packages that it uses, as few JavaScript files that load
// fast. What package.json names under `dependencies` is not built in, but installed with the package. A checkout runs src/.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { recordTypes } from './types.ts';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');
const PACKAGE = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)(?=\/)/;

const { dependencies, optionalDependencies } = readJson(ROOT);
const installed = new Set(Object.keys({ ...dependencies, ...optionalDependencies }));

/** What packages load only if they are asked for what src/ does not use: Fastify's own compilers, and a driver of pg. */
const NEVER_LOADED = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'pg-native'];

const { output } = await build({
  cwd: ROOT,
  input: { vitrine: 'src/vitrine.js', plugin: 'src/server/plugin.ts' },
  platform: 'node',
  // tsconfig.json names an older language than the one that Node runs.
  tsconfig: false,
  external: (id) => installed.has(id) || NEVER_LOADED.includes(id),
  output: {
    dir: DIST,
    cleanDir: true,
    chunkFileNames: '[name].js',
    codeSplitting: { groups: [{ name: packageChunk, debugName: 'packages' }] },
    minify: { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
    sourcemap: true,
    sourcemapExcludeSources: true,
  },
});

const chunks = output.filter((file) => file.type === 'chunk');
for (const chunk of chunks) if (chunk.fileName.startsWith('packages/')) removeSourceMap(chunk.fileName);
const folders = new Set(
  chunks.flatMap((chunk) => chunk.moduleIds.flatMap((id) => PACKAGE.exec(id)?.[0] ?? [])),
);
cpSync(join(ROOT, 'src/server/plugin-options.ts'), join(DIST, 'plugin.d.ts'));
writeFileSync(join(DIST, 'types.d.ts'), `${recordTypes}\n`);
writeFileSync(join(DIST, 'LICENSES.txt'), `${[...folders].sort().map(readLicence).join('\n\n')}\n`);

/** Each package becomes a file of its own, loaded by the commands that use it. */
function packageChunk(id: string): string | null {
  const name = PACKAGE.exec(id)?.[1];
  return name === undefined ? null : `packages/${name.replace('/', '-')}`;
}

/** Stack traces name lines of src/; those of packages are found in the built files. */
function removeSourceMap(fileName: string): void {
  const file = join(DIST, fileName);
  rmSync(`${file}.map`);
  writeFileSync(file, readFileSync(file, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\n?$/, '\n'));
}

/** The licences of packages ask for their text wherever their code goes. */
function readLicence(folder: string): string {
  const { name, version, license } = readJson(folder);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? '' : `\n\n${readFileSync(join(folder, file), 'utf8').trim()}`;
  return `## ${name} ${version}, ${license}${text}`;
}

function readJson(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}
