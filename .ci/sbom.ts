// Reduces npm's list of all packages (standard input) to those that users get: installed ones, and those built into dist/.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly properties?: readonly { name: string; value: string }[];
}

const licences = readFileSync(join(import.meta.dirname, '../dist/LICENSES.txt'), 'utf8');
const built = new Set(
  [...licences.matchAll(/^## (\S+) (\S+),/gm)].map(([, name, version]) => `${name}@${version}`),
);
const bom = JSON.parse(await text(process.stdin));
const isDevelopment = ({ properties = [] }: Component) =>
  properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true');
const isShipped = (component: Component) =>
  built.has(`${component.name}@${component.version}`) || !isDevelopment(component);
const components: Component[] = bom.components.filter(isShipped);
const refs = new Set([
  bom.metadata.component['bom-ref'],
  ...components.map((component) => component['bom-ref']),
]);
const dependencies = bom.dependencies
  .filter(({ ref }: { ref: string }) => refs.has(ref))
  .map(({ ref, dependsOn = [] }: { ref: string; dependsOn?: string[] }) => ({
    ref,
    dependsOn: dependsOn.filter((name) => refs.has(name)),
  }));
// npm names the folder.
bom.metadata.component.name = 'vitrine';
console.log(JSON.stringify({ ...bom, components, dependencies }, null, 2));
