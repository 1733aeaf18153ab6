// The explorer's HTML: the template with the configuration and the variants in it.

import { basename } from 'node:path';
import { servesSamples } from '../../config/database-url.ts';
import { listPictureOrigins } from '../../config/media.ts';
import type { Mount } from '../../config/mount.ts';
import { type Config, listMounts } from '../../config/settings.ts';
import { inWords, STYLES, VARIANTS } from '../../variants.ts';
import { codeTabs } from '../docs/reference-layout.ts';
import { createLook } from '../look.ts';
import { fill, jsonBlock, type Markup, markup } from '../markup.ts';
import { EMPTY_CASE } from '../page.ts';
import { fileAddress, withAddresses } from '../page-files.ts';
import { readWeb } from '../web-files.ts';

/** Names of users to begin with. */
type Names = Readonly<Record<'microblog' | 'portfolio', readonly string[]>>;

/** For who runs the sample users: the two lines that replace them. */
const OWN_DATA = markup`<div class="own">
          <figure class="code">
            <figcaption>
              <h2 id="own-title">Load your own data</h2>
              <button type="button" class="copy" id="copy-own">Copy</button>
            </figcaption>
            <pre id="own"><code>${[
              `echo '{"id":"1","username":"mira","name":"Mira","skills":"type"}' > people.ndjson`,
              'npm start -- people.ndjson',
            ].join('\n')}</code></pre>
          </figure>
        </div>`;

/** A script adds when they were saved, and shows what is wrong with a later save. */
const describeFiles = (files: readonly string[], faults: readonly string[]) =>
  markup`<div>
          <p>Served from <code>${files.map((file) => basename(file)).join(', ')}</code>. What is saved in it shows here at once. <span id="saved"></span></p>
          <div id="faults" class="faults" role="alert"${faults.length === 0 && markup` hidden`}>
            <p>What was saved last is not served:</p>
            <pre>${faults.join('\n')}</pre>
          </div>
        </div>`;

const CONFIGURATION = /(<script id="configuration"[^>]*>)\s*null\s*(?=<\/script>)/;

/** Renders the page for users to begin with. */
export type ExplorerPage = (users: Names, noData: boolean) => string;

export function createExplorerPage(config: Config): ExplorerPage {
  const mounts = listMounts(config);
  const look = createLook(config);
  const samples = servesSamples(config);
  let template: string | undefined;

  /** Reads the files when the page is first asked for. */
  const load = () =>
    fill(withAddresses(config, readWeb('explorer.html')), {
      title: markup`<title>${look.name}</title>
    <meta name="description" content="Browse public profiles and the API requests that return them.">`,
      browser: look.browser(''),
      brand: look.brand('', './'),
      rehearsal:
        config.rehearsal &&
        markup`<script type="module" src="${fileAddress(config, 'rehearsal.js')}"></script>`,
      about: describeVariants(mounts),
      people: look.people('', 'People'),
      code: codeTabs('request', 'The request'),
      variants: markup`${mounts.map(variantRadio)}`,
      'empty-case': EMPTY_CASE,
      footer: look.footer(),
    });

  return (users, noData) => {
    const configuration = jsonBlock({ ...buildConfiguration(config, mounts, users), samples, noData });
    const { files, filesState } = config;
    template ??= load();
    return fill(template, {
      'first-people': listPeople(mounts, users),
      'own-data': samples ? OWN_DATA : files && describeFiles(files, filesState?.faults ?? []),
    }).replace(CONFIGURATION, (_, opening) => opening + configuration);
  };
}

/** Links to pages of people, for who cannot use the explorer and for search engines. */
function listPeople(mounts: readonly Mount[], users: Names): Markup | undefined {
  const links = mounts.flatMap(({ variant, base }) =>
    users[VARIANTS[variant].family].map(
      (name) =>
        markup`<li><a href="${base.origin === undefined ? '' : `${base.origin}/`}people/${variant}/${encodeURIComponent(name)}"><bdi>${name}</bdi>, ${VARIANTS[variant].family}</a></li>`,
    ),
  );
  return links.length === 0 ? undefined : markup`<ul>${links}</ul>`;
}

function buildConfiguration(config: Config, mounts: readonly Mount[], users: Names) {
  return {
    variants: mounts.map(({ variant: name, base: { path, origin = null } }) => {
      const { style, family, collection } = VARIANTS[name];
      return { name, path, origin, family, collection, ...STYLES[style] };
    }),
    people: users,
    directory: config.directory,
    imageHosts: listPictureOrigins(config),
    // The page is made anew whenever the data changed, or a save is refused.
    live: config.filesState === undefined ? null : { made: Date.now(), ...config.filesState },
  };
}

const variantRadio = ({ variant }: Mount) =>
  markup`<label><input type="radio" name="variant" value="${variant}"><b>${variant.toUpperCase()}</b> <span>${VARIANTS[variant].family}</span></label>`;

const FAMILY_WORDS = {
  microblog: 'microblogs, with profiles and posts',
  portfolio: 'design portfolios, with profiles and shots',
} as const;

/** One sentence on what each variant is. */
function describeVariants(mounts: readonly Mount[]): Markup {
  const byFamily = Map.groupBy(mounts, ({ variant }) => VARIANTS[variant].family);
  const sentences = [...byFamily].map(([family, group]) => {
    const names = inWords(group.map(({ variant }) => variant));
    return `${names}: ${FAMILY_WORDS[family]}.`;
  });
  return markup`<p>${sentences.join(' ')} One request by user name, every value a string.</p>`;
}
