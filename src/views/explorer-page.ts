// The explorer's HTML: the template with the configuration and the variants in it.
import type { Site } from '../config/clashes.ts';
import { type Config, sitesOf } from '../config/config.ts';
import { pictureOriginsOf } from '../config/media.ts';
import { SAMPLE_PEOPLE } from '../samples/people.ts';
import { STYLES, VARIANTS } from '../variants.ts';
import { fill, jsonBlock, Markup, markup } from './markup.ts';
import { readWeb } from './web-files.ts';

/** Names of users to begin with. */
type Names = Readonly<Record<'microblog' | 'portfolio', readonly string[]>>;

export interface Opened {
  /** The way from this page to the explorer. */
  readonly root: string;
  readonly title: Markup;
  /** What stands in the case until the script has drawn the profile. */
  readonly profile?: Markup;
}

const HOME: Opened = {
  root: '',
  title: markup`<title>Vitrine</title>
    <meta name="description" content="Browse public profiles and the API requests that return them.">`,
};

/** For who runs the sample users: the three lines that replace them. They scroll on phones, so they take the focus. */
const OWN_DATA = markup`<div class="own">
          <figure class="code">
            <figcaption>
              <h2 id="own-title">Load your own data</h2>
              <button type="button" class="copy" id="copy-own">Copy</button>
            </figcaption>
            <pre id="own" tabindex="0" role="region" aria-labelledby="own-title"><code>${[
              `echo '{"id":"1","username":"mira","name":"Mira","skills":"type"}' > people.ndjson`,
              'npm run -s vitrine -- import --database-url site.db people.ndjson',
              'DATABASE_URL=site.db npm start',
            ].join('\n')}</code></pre>
          </figure>
        </div>`;

const CONFIGURATION = /(<script id="configuration"[^>]*>)\s*null\s*(?=<\/script>)/;
/** Addresses in the template; all are relative. */
const ADDRESS = /(?<= (?:href|src)=")(?!#)/g;

/** Renders the page for users to begin with, opened on one user or on none. */
export type ExplorerPage = (users: Names, opened?: Opened) => string;

export function createExplorerPage(config: Config): ExplorerPage {
  const sites = sitesOf(config);
  const samples = config.databaseUrl === undefined;
  let files: { template: string; skeleton: Markup } | undefined;

  /** Reads the files when the page is first asked for. */
  const load = () => ({
    skeleton: new Markup(readWeb('skeleton.html')),
    template: fill(readWeb('explorer.html'), {
      about: aboutOf(sites),
      docs: config.docs ? markup`<a href="docs">API reference</a>` : undefined,
      'own-data': samples ? OWN_DATA : undefined,
      variants: markup`${sites.map(variantRadio)}`,
    }),
  });

  return (users, { root, title, profile } = HOME) => {
    const { template, skeleton } = (files ??= load());
    const configuration = jsonBlock(configurationOf(config, sites, samples, users));
    return fill(template.replace(ADDRESS, root), { title, profile: profile ?? skeleton }).replace(
      CONFIGURATION,
      (_, opening) => opening + configuration,
    );
  };
}

function configurationOf(config: Config, sites: readonly Site[], samples: boolean, users: Names) {
  const people = (names: readonly string[]) =>
    names.map((name) => ({ name, avatar: (samples && SAMPLE_PEOPLE.get(name)) || '' }));
  return {
    variants: sites.map(({ variant: name, base: { path, origin = null } }) => {
      const { style, family, collection } = VARIANTS[name];
      return { name, path, origin, family, collection, ...STYLES[style] };
    }),
    samples,
    people: { microblog: people(users.microblog), portfolio: people(users.portfolio) },
    imageHosts: pictureOriginsOf(config),
  };
}

const variantRadio = ({ variant }: Site) =>
  markup`<label><input type="radio" name="variant" value="${variant}"><b>${variant.toUpperCase()}</b> <span>${VARIANTS[variant].family}</span></label>`;

const FAMILIES = {
  microblog: { one: 'a microblog', many: 'microblogs', holds: 'profiles and posts' },
  portfolio: { one: 'a design portfolio', many: 'design portfolios', holds: 'profiles and shots' },
} as const;

/** One sentence on what each variant is. */
function aboutOf(sites: readonly Site[]): Markup {
  const byFamily = Map.groupBy(sites, ({ variant }) => VARIANTS[variant].family);
  const list = new Intl.ListFormat('en');
  const clauses = [...byFamily].map(([family, group]) => {
    const { one, many, holds } = FAMILIES[family];
    const names = list.format(group.map(({ variant }) => variant.toUpperCase()));
    return `${names} ${group.length === 1 ? `is ${one}` : `are ${many}`}: ${holds}.`;
  });
  return markup`<p>${clauses.join(' ')} One request by user name, every value a string.</p>`;
}
