// The README and the guides, as tests read them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './files.ts';

const GUIDES = readdirSync(join(ROOT, 'src/guides'), 'utf8')
  .filter((name) => name.endsWith('.md'))
  .sort();

/** Paths from the top of the repository. */
export const PAGES = ['README.md', '.github/CONTRIBUTING.md', ...GUIDES.map((name) => `src/guides/${name}`)];

export const readPage = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** What stands under a heading, up to the next heading of the same or a higher level. */
export function section(path: string, title: string): string {
  const page = readPage(path).replace(/^```.*?^```/gms, (code) => code.replaceAll('\n#', '\n\0#'));
  const heading = new RegExp(`^(#+) ${title}\n`, 'm').exec(page);
  if (heading === null) throw new Error(`${path} has no heading "${title}"`);
  const [line, marks = ''] = heading;
  const rest = page.slice(heading.index + line.length);
  const end = rest.search(new RegExp(`^#{1,${marks.length}} `, 'm'));
  return (end === -1 ? rest : rest.slice(0, end)).replaceAll('\0', '');
}

/** The first code block of a language under a heading. */
export function codeBlock(path: string, title: string, language: string): string {
  const code = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(section(path, title))?.[1];
  if (code === undefined) throw new Error(`${path} has no ${language} block under "${title}"`);
  return code;
}
