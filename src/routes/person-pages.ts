// The pages of people, and what stands at the addresses around them. Browsers get pages, also of what is not there;
// programs get JSON.
import type { Static } from '@sinclair/typebox';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Mount } from '../config/clashes.ts';
import { type Config, listMounts } from '../config/config.ts';
import { hostKey } from '../config/setting-values.ts';
import { caching, NOT_FOUND_CACHING } from '../http/answer.ts';
import { type ErrorCode, FAILURES, sendFailure } from '../http/errors.ts';
import { PAGE } from '../http/observations.ts';
import { userKey } from '../records/user-name.ts';
import type { Awaitable, Reader } from '../stores/reader.ts';
import { VARIANTS } from '../variants.ts';
import { createLook } from '../views/look.ts';
import { createPersonPages, missingPage, type PageLink } from '../views/person-page.ts';
import { createSuggestedUsers, type ExampleUsers } from './example-users.ts';
import { hostConstraint, lookupResponses, UserInput } from './lookup.ts';
import { createPersonReplies, type PeopleOptions } from './person-replies.ts';
import { pageHeaders } from './web-file.ts';

const Params = Type.Object({ username: UserInput, item: Type.Optional(Type.String()) });
export type PersonRoute = { Params: Static<typeof Params> };

/** The options of a route whose errors are pages, too. */
export const pageRoute = (config: Config) => ({
  config: { operation: PAGE },
  schema: {
    hide: true,
    response: { ...lookupResponses(config, Type.String()), 404: Type.Any(), 410: Type.Any() },
  },
});

/** The options of a route of one user, on the host of their variant. */
export function personRoute({ config, mount }: Pick<PeopleOptions, 'config' | 'mount'>) {
  const { schema, ...options } = pageRoute(config);
  return { ...options, constraints: hostConstraint(mount.base), schema: { ...schema, params: Params } };
}

export function addPersonPages(app: FastifyInstance, options: PeopleOptions): void {
  const { config, mount, store, exampleUsers } = options;
  const { variant } = mount;
  const { send, absence, createVersion } = createPersonReplies(config, mount, store);
  const pages = createPersonPages(config, mount);
  const suggestedUsers = createSuggestedUsers(config, exampleUsers);
  const headers = { ...pageHeaders(config), ...caching(config) };
  const template = { version: createVersion(pages.person), headers, render: pages.person };
  const route = personRoute(options);

  app.get<PersonRoute>(`/people/${variant}/:username`, route, async (request, reply) => {
    const { username } = request.params;
    if (await send(reply, username, template)) return reply;
    const [code, users, other] = [
      await absence(username),
      await suggestedUsers(),
      await findElsewhere(config, mount, store, username),
    ];
    const links = users[VARIANTS[variant].family].map((name) => linkTo('', name));
    const page = code === 'USER_GONE' ? pages.removed : pages.unknown;
    return sendMissing(request, reply, config, code, () => page(username, [...other, ...links]));
  });
  app.get<PersonRoute>(`/people/${variant}/:username/`, route, (request, reply) => {
    reply
      .header('location', `../${encodeURIComponent(request.params.username)}`)
      .code(301)
      .send();
  });
}

/** The addresses that people shorten the one of a page to, where there is no directory. */
export function addIndexes(
  app: FastifyInstance,
  config: Config,
  exampleUsers: () => Awaitable<ExampleUsers>,
): void {
  const look = createLook(config);
  const mounts = listMounts(config);
  const suggestedUsers = createSuggestedUsers(config, exampleUsers);
  const index = (url: string, root: string, shown: readonly Mount[]) =>
    app.get(url, pageRoute(config), async (request, reply) => {
      const users = await suggestedUsers();
      const links = shown
        .filter(({ base }) => base.host === undefined || base.host === hostKey(request.headers.host ?? ''))
        .flatMap(({ variant }) =>
          users[VARIANTS[variant].family].map((name) => linkTo(`${root}people/${variant}/`, name)),
        );
      const lead = links.length > 0 ? 'Some of the people here:' : 'Its address ends with a user name.';
      return sendMissing(request, reply, config, 'ROUTE_NOT_FOUND', () =>
        missingPage(look, root, { title: 'Whose page?', lead, links }),
      );
    });
  index('/people', './', mounts.slice(0, 1));
  index('/people/', '../', mounts.slice(0, 1));
  for (const mount of mounts) {
    index(`/people/${mount.variant}`, '../', [mount]);
    index(`/people/${mount.variant}/`, '../../', [mount]);
  }
}

const linkTo = (folder: string, name: string): PageLink => ({
  name,
  href: folder + encodeURIComponent(name),
});

function sendMissing(
  request: FastifyRequest,
  reply: FastifyReply,
  config: Config,
  code: ErrorCode,
  page: () => string,
): FastifyReply {
  // Not for proxies, which would keep a copy for each spelling of Accept, or one for all.
  const briefly = `private, ${NOT_FOUND_CACHING}`;
  reply.header('vary', 'Accept');
  if (!/\btext\/html\b/.test(request.headers.accept ?? '')) return sendFailure(reply, code, briefly);
  reply.headers({ ...pageHeaders(config), 'cache-control': briefly });
  return reply.code(FAILURES[code].status).send(page());
}

/** The user of the other family who has this name, if there is one on the same host. */
async function findElsewhere(
  config: Config,
  { variant, base }: Mount,
  store: Reader,
  name: string,
): Promise<PageLink[]> {
  const { family } = VARIANTS[variant];
  const other = listMounts(config).find(
    (mount) => VARIANTS[mount.variant].family !== family && mount.base.host === base.host,
  );
  if (other === undefined) return [];
  const found = await store.profile(VARIANTS[other.variant].family, userKey(name));
  return found === undefined ? [] : [linkTo(`../${other.variant}/`, name)];
}
