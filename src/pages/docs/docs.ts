// For front-end developers: the page that shows the API's description and tries it out, and the guides.

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { type Asset, createAsset, sendAsset } from '../../api/http/assets.ts';
import { forUsers } from '../../api/openapi/example-users.ts';
import { type DescriptionOptions, documentText } from '../../api/openapi/openapi.ts';
import { type Config, listMounts } from '../../config/settings.ts';
import { EACH_TIME, fileRoute, HTML, logoOrigins, MARKDOWN, TEXT, typed } from '../page-headers.ts';
import type { ApiDocument } from './api-document.ts';
import { createReferencePage } from './reference-page.ts';
import { GUIDES, llmsText, referenceText } from './reference-text.ts';

/** The reference and the guides, as pages. */
export const docs: FastifyPluginCallbackTypebox<DescriptionOptions> = (app, options, done) => {
  const { config, exampleUsers } = options;
  const mounts = listMounts(config);
  const render = createReferencePage(config);
  const origins = mounts.flatMap(({ base }) => base.origin ?? []);
  const headers = { ...policyFor(config, origins), ...typed(HTML, EACH_TIME) };
  const pages = [
    ['/docs', render, headers],
    ['/docs.md', (document: ApiDocument) => referenceText(config, document), typed(MARKDOWN, EACH_TIME)],
    ['/llms.txt', (document: ApiDocument) => llmsText(config, document), typed(TEXT, EACH_TIME)],
  ] as const;
  for (const [url, create, headers] of pages) {
    const page = forUsers((users) => createAsset(create(JSON.parse(documentText(users, options))), headers));
    app.get(url, fileRoute, async (_request, reply) => sendAsset(reply, page(await exampleUsers())));
  }

  // The renderer of Markdown is loaded when it is first needed.
  for (const guide of GUIDES) {
    let asset: Asset | undefined;
    app.get(`/docs/${guide}`, fileRoute, async (_request, reply) => {
      const { guidePage } = await import('./guide-page.ts');
      asset ??= createAsset(guidePage(config, guide), headers);
      return sendAsset(reply, asset);
    });
  }
  done();
};

/** The page connects to this server only, and to the hosts of the variants that have one of their own. */
const policyFor = (config: Config, origins: readonly string[]) => ({
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'",
    ["img-src 'self'", ...logoOrigins(config)].join(' '),
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ].join('; '),
});
