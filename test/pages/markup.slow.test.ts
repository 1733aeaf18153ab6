// The HTML of every page is valid, as it is served and as scripts leave it. The validator is html-validate: vnu wants a
// Java runtime, 180 MB.

import { HtmlValidate, StaticConfigLoader } from 'html-validate';
import { beforeAll, describe, expect, test } from 'vitest';
import { VARIANT_NAMES } from '../../src/variants.ts';
import { describeInBrowser } from '../support/browser.ts';
import { ask } from '../support/http.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';

const validator = new HtmlValidate(
  new StaticConfigLoader({
    extends: ['html-validate:standard', 'html-validate:a11y'],
    // What scrolls, such as a <pre>, is a named region, so that keyboards reach it; a <section> would add nothing.
    rules: { 'prefer-native-element': 'off' },
  }),
);

async function faultsOf(html: string): Promise<string[]> {
  const { results } = await validator.validateString(html);
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line, selector }) => `${line}: ${selector}: ${message} (${ruleId})`),
  );
}

let server: LocalServer;
beforeAll(async () => {
  server = await serveHere();
});

describe('as served', () => {
  test.each([
    '/',
    '/docs',
    '/docs/recipes',
    '/docs/errors',
    '/people/a/ada',
    '/people/b/ada',
    '/people/b/ada/767',
    '/people/b/ada?before=1780',
    '/people/b/nobody',
    '/people/',
  ])('%s', async (path) => {
    const { headers, body } = await ask(server, path, { headers: { accept: 'text/html' } });
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(await faultsOf(body)).toEqual([]);
  });
});

describeInBrowser('after its scripts', (eye) => {
  const PAGES = [
    ['/?variant=a&user=ada', '#profile:not([aria-busy]) h1'],
    ['/?variant=b&user=ada', '#profile:not([aria-busy]) h1'],
    ['/?variant=c&user=nobody', '#profile:not([aria-busy]) h1'],
    ['/docs', '.operation'],
  ] as const;
  test.each(PAGES)('%s', async (path, part) => {
    const page = await eye.open(server.url + path, { expected: /status of 404/ });
    await page.locator(part).first().waitFor();
    expect(await faultsOf(await page.content())).toEqual([]);
  });

  test.each(VARIANT_NAMES)('the card, variant %s', async (variant) => {
    // Any page of the server's origin will do: the card is added to it.
    const page = await eye.open(`${server.url}/docs`);
    await page.addScriptTag({ type: 'module', url: '/embed.js' });
    await page.evaluate(`{
      const card = document.createElement('vitrine-profile');
      Object.entries({ base: '/${variant}', variant: '${variant}', user: 'ada' })
        .forEach(([name, value]) => card.setAttribute(name, value));
      document.querySelector('main').prepend(card);
    }`);
    await page.locator('vitrine-profile .content .name', { hasText: 'Ada Lindqvist' }).waitFor();
    const html = await page.evaluate("document.querySelector('vitrine-profile').shadowRoot.innerHTML");
    expect(await faultsOf(html as string)).toEqual([]);
  });
});
