// The API reference and its guides as one Markdown text, for programs. Each heading is a link to the page that it is on.
import { readFileSync } from 'node:fs';
import { serverUrl } from '../../config/addresses.ts';
import { packageFile } from '../../config/package-files.ts';
import type { Config } from '../../config/settings.ts';
import { createLook } from '../look.ts';
import type { ApiDocument } from './api-document.ts';
import { describeResponse, listSections, type ReferencePart } from './reference-parts.ts';

/** For people who use the API. Guides for the operator are in the repository and in the package. */
export const GUIDES = ['api', 'recipes', 'errors'];

/** What the guides call the server. */
const LOCAL = 'http://127.0.0.1:8080';

/**
 * The text of a guide; links to what is not served become plain text. `root` is the address of the server, or the way there
 * from the guide's page.
 */
export const readGuide = (config: Config, name: string, root: string): string =>
  readFileSync(packageFile(`src/guides/${name}.md`), 'utf8')
    .replaceAll(LOCAL, serverUrl(config))
    .replace(
      /\[([^\]]+)\]\((?:([\w-]+)\.md(#[\w-]+)?|\.\.\/[^)]*)\)/g,
      (_, words: string, guide = '', part = '') =>
        GUIDES.includes(guide) ? `[${words}](${root}docs/${guide}${part})` : words,
    );

/** As other guides refer to it. */
export const headingId = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

export function referenceText(config: Config, document: ApiDocument): string {
  const root = `${serverUrl(config)}/`;
  const sections = listSections(document, root);
  const reference = sections.flatMap(({ parts, ...section }) => [
    partText(section),
    ...parts.map((part) => partText({ ...part, title: `${section.title}: ${part.title}` })),
  ]);
  const guides = GUIDES.map((name) =>
    readGuide(config, name, root)
      .replaceAll('](#', `](docs/${name}#`)
      .replace(/^# (.*)/, `## [$1](docs/${name})`)
      .replace(/^## (\w.*)$/gm, (_, title) => `## [${title}](docs/${name}#${headingId(title)})`),
  );
  const text = `# ${createLook(config).name}: API reference\n\n${[...reference, ...guides].join('\n')}`;
  return withRoot(text, root);
}

/** The text is read elsewhere, where only full addresses lead here. */
const withRoot = (text: string, root: string) => text.replace(/\]\((?=docs|openapi)/g, `](${root}`);

const partText = ({ id, title, text, rows = [], operation }: ReferencePart) =>
  [
    `## [${title}](#${id})\n`,
    operation && `GET \`${operation.path}\`\n`,
    `${text}\n`,
    ...rows.map((row) => `- \`${row.name}\` (${row.note}): ${row.text}`),
    ...(operation?.responses ?? []).map(
      ([status, response]) => `- \`${status}\`: ${describeResponse(response).join(' ')}`,
    ),
    '',
  ]
    .filter((line) => line !== undefined)
    .join('\n')
    .replaceAll('](#', '](docs#');

/** As https://llmstxt.org describes it. */
export function llmsText(config: Config, { info }: ApiDocument): string {
  const text = `# ${createLook(config).name}

> ${info.summary}

${info.description}

## Docs

- [API reference and guides](docs.md): every request, member and error, and code that runs
- [OpenAPI document](openapi.json): the same requests for programs
`;
  return withRoot(text, `${serverUrl(config)}/`);
}
