// A Ghost export (Settings, Import/Export) -> variants B and C. Each author becomes a user, each post a shot.

const DATA = ['posts', 'users', 'tags', 'posts_tags', 'posts_authors'];
export const lists = DATA.flatMap((name) => [`db.data.${name}`, `data.${name}`]);

const found = Object.fromEntries(DATA.map((name) => [name, []]));

export default (object, kit) => {
  found[kit.list()?.split('.').at(-1)]?.push(object);
};

// Drafts, pages, and posts for members alone are in the export as well.
const isPublic = ({ status, type = 'post', visibility = 'public' }) =>
  status === 'published' && type === 'post' && visibility === 'public';

/** Ghost writes this for its own address. */
const fileOf = (url, kit) =>
  url?.startsWith('__GHOST_URL__/') ? kit.media(url.slice('__GHOST_URL__/'.length)) : kit.url(url);

/** The ids that a table of pairs gives, in the order of the post. */
const pairs = (table, member, post) =>
  table
    .filter(({ post_id }) => post_id === post)
    .sort((one, other) => one.sort_order - other.sort_order)
    .map((pair) => pair[member]);

function shotOf(post, kit) {
  const [author] = pairs(found.posts_authors, 'author_id', post.id);
  const tags = pairs(found.posts_tags, 'tag_id', post.id).map((id) =>
    found.tags.find((tag) => tag.id === id),
  );
  const text = post.custom_excerpt || post.plaintext || kit.text(post.html);
  return {
    id: kit.id(post.uuid ?? post.id),
    user_id: kit.id(author ?? post.author_id),
    date: kit.date(post.published_at),
    title: post.title,
    description: text.slice(0, 10_000),
    // Names that begin with # are Ghost's own.
    tags: tags
      .filter((tag) => tag && !tag.name.startsWith('#'))
      .map(({ name }) => name.replace(/,\s*/g, ' ')),
    image: fileOf(post.feature_image, kit),
    large_image: fileOf(post.feature_image, kit),
    status: 1,
  };
}

export const end = (kit) => {
  const shots = found.posts.filter(isPublic).map((post) => shotOf(post, kit));
  const users = found.users.map((user) => ({
    totalShots: shots.filter((shot) => shot.user_id === kit.id(user.id)).length,
    id: kit.id(user.id),
    username: user.slug,
    name: user.name,
    location: user.location,
    website: kit.url(user.website),
    bio: user.bio,
    avatar: fileOf(user.profile_image, kit),
    cover_image: fileOf(user.cover_image, kit),
  }));
  return [...users.filter(({ totalShots }) => totalShots > 0), ...shots];
};
