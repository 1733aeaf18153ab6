// Makes the package: `npm run pack`. Node runs TypeScript as it is, except of packages that are installed: so the package has
// the same files as JavaScript, without their types. They are made in a temporary folder, never in the checkout.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
/** What the package has besides the folders and files that run. */
const ALWAYS = ['README.md', 'LICENSE'];
const MEMBERS = ['name', 'version', 'description', 'license', 'type', 'engines', 'bin', 'dependencies'];

/** Writes the tarball to this folder; returns its name. */
export function pack(destination: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-pack-'));
  try {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const files: string[] = manifest.files;
    for (const file of [...files, ...ALWAYS])
      cpSync(join(ROOT, file), join(folder, file), { recursive: true });
    const packed = { ...Object.fromEntries(MEMBERS.map((name) => [name, manifest[name]])), files };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(packed, null, 2));
    for (const name of readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' }))
      if (/(?<!\.d)\.ts$/.test(name)) stripTypes(join(folder, 'src', name));
    const options = { cwd: folder, encoding: 'utf8' } as const;
    return execFileSync('npm', ['pack', '--silent', '--pack-destination', destination], options).trim();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const IMPORT = /((?:\bfrom|\bimport)\s*\(?\s*'\.[^'\n]*)\.ts'/g;

function stripTypes(path: string): void {
  const script = stripTypeScriptTypes(readFileSync(path, 'utf8')).replace(IMPORT, "$1.js'");
  writeFileSync(path.replace(/\.ts$/, '.js'), script);
  rmSync(path);
}

if (import.meta.main) console.log(pack(process.cwd()));
