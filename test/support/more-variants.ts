// Adds a variant of a known style, and one of a style of its own, before other modules read the tables. Import it first.
import { COLLECTIONS, STYLE_NAMES, STYLES, VARIANT_NAMES, VARIANTS } from '../../src/variants.ts';

const styles = {
  short: { profile: '/u/:username', items: '/u/:username/all' },
  // Served by the plugin of the path style. Only the addresses of lists differ.
  works: { profile: '/api/username/:username', items: '/api/username/:username/works' },
};
const variants = {
  x: {
    style: 'works',
    family: 'microblog',
    collection: 'works',
    about: 'Microblog: the path names the user.',
  },
  y: {
    style: 'path',
    family: 'portfolio',
    collection: 'Pieces',
    about: 'Design portfolio: like variant B, but the shots are listed as `Pieces`.',
  },
  z: { style: 'short', family: 'microblog', collection: 'notes', about: 'Microblog with short addresses.' },
};

Object.assign(STYLES, styles);
Object.assign(VARIANTS, variants);
(STYLE_NAMES as string[]).push(...Object.keys(styles));
(VARIANT_NAMES as string[]).push(...Object.keys(variants));
(COLLECTIONS as string[]).push(...Object.values(variants).map(({ collection }) => collection));
