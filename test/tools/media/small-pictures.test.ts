// Small files of copies, for phones: how they are made, what pages know of them, and that they share the fate of their copy.
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import sharp, { type Sharp } from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyPath, SMALL_WIDTHS, smallName } from '../../../src/records/copy-files.ts';
import { openReader } from '../../../src/stores/open.ts';
import type { FetchOptions } from '../../../src/tools/media/fetch.ts';
import { DecodeError, loadShrink, NoSharp, type Shrink } from '../../../src/tools/media/shrink.ts';
import { databaseOf } from '../../support/database.ts';
import { tempFile } from '../../support/files.ts';
import { ask } from '../../support/http.ts';
import { copiesIn, fetchInto, MEDIA_URL } from '../../support/media-folder.ts';
import { startFiles } from '../../support/mirror-site.ts';
import { folio, shot } from '../../support/records.ts';
import { done, run, spawned } from '../../support/run.ts';
import { serveHere } from '../../support/serve-here.ts';

type Maker = (width: number, height: number) => Sharp;

const solid: Maker = (width, height) =>
  sharp({ create: { width, height, channels: 3, background: '#c03020' }, limitInputPixels: false });
/** As large as photos are. */
const noise: Maker = (width, height) =>
  sharp({
    create: {
      width,
      height,
      channels: 3,
      background: '#888',
      noise: { type: 'gaussian', mean: 128, sigma: 30 },
    },
  });
const glass: Maker = (width, height) =>
  sharp({ create: { width, height, channels: 4, background: { r: 255, g: 0, b: 0, alpha: 0.5 } } });

const jpeg = (picture: Sharp) => picture.jpeg({ quality: 95 }).toBuffer();
/** Lies on its side: browsers turn it. */
const turned = (picture: Sharp) => picture.withMetadata({ orientation: 6 }).jpeg().toBuffer();
const animated = async () => {
  const frames = [await solid(600, 4).png().toBuffer(), await glass(600, 4).png().toBuffer()];
  return sharp(frames, { join: { animated: true } })
    .gif()
    .toBuffer();
};

const widths = (...all: number[]) =>
  all.map((width) => ({ width, hash: expect.stringMatching(/^[0-9a-f]{16}$/) }));

describe('a copy', () => {
  let shrink: Shrink;
  beforeAll(async () => {
    shrink = await loadShrink();
  });

  test.each<[what: string, body: () => Promise<Buffer>, facts: object]>([
    [
      'a photo',
      () => jpeg(noise(1600, 1200)),
      { width: 1600, height: 1200, small: widths(240, 480, 960, 2048) },
    ],
    ['a middling picture', () => jpeg(noise(700, 350)), { width: 700, height: 350, small: widths(240, 480) }],
    ['a small picture', () => jpeg(solid(240, 240)), { width: 240, small: [], color: 'bf3020' }],
    [
      'a photo that is turned',
      () => turned(noise(800, 600)),
      { width: 600, height: 800, small: widths(240, 480) },
    ],
    ['one that lets its background through', () => glass(600, 300).png().toBuffer(), { color: null }],
    [
      'a grey one',
      () => noise(300, 300).greyscale().png().toBuffer(),
      { color: expect.stringMatching(/^([78].)\1\1$/) },
    ],
    ['an animation', animated, { width: 600, height: 4, small: [] }],
    [
      'one whose small picture would be larger',
      () => noise(242, 200).threshold(128).png({ palette: true, colours: 2 }).toBuffer(),
      { width: 242, small: [] },
    ],
    [
      'one that is too tall for WebP',
      () => solid(250, 17_500).png().toBuffer(),
      { height: 17_500, small: [] },
    ],
  ])('that is %s', async (_, make, facts) => {
    const body = await make();
    const made: Record<number, Buffer> = {};
    const found = await shrink(tempFile('picture', body), body.length, async (width, small) => {
      made[width] = small;
    });
    expect(found).toMatchObject(facts);
    expect(Object.keys(made).map(Number)).toEqual(found.small.map(({ width }) => width));
    for (const [width, small] of Object.entries(made)) {
      const read = await sharp(small).metadata();
      const shown = Math.min(Number(width), found.width);
      expect([read.format, read.width, small.length < body.length]).toEqual(['webp', shown, true]);
      expect(read.height).toBe(Math.round((found.height * shown) / found.width));
    }
  });

  const TOO_MUCH = /^decoding it would take too much memory$/;
  const wide = (width: number, height: number) =>
    solid(width, height).greyscale().png({ compressionLevel: 1 }).toBuffer();
  const interlaced16 = (side: number) =>
    solid(side, side).toColourspace('rgb16').png({ progressive: true, compressionLevel: 1 }).toBuffer();
  const cutOff = async () => (await jpeg(noise(900, 900))).subarray(0, 9000);

  test.each<[what: string, body: () => Promise<Buffer>, reason: RegExp]>([
    ['has too many pixels', () => solid(12_000, 5_000).png().toBuffer(), /pixel limit/],
    ['is gray, and very wide', () => wide(600_000, 20), TOO_MUCH],
    ['has many rows that are wide', () => wide(29_500, 300), TOO_MUCH],
    ['is interlaced, with 16 bits', () => interlaced16(4500), TOO_MUCH],
    ['is an AVIF of many pixels', () => solid(2500, 2500).avif({ effort: 0 }).toBuffer(), TOO_MUCH],
    ['is cut off', cutOff, /premature end/],
    ['is no picture', async () => Buffer.from('GIF89a and nothing more'), /^Input file /],
  ])('that %s is refused with the reason', async (_, make, reason) => {
    const body = await make();
    await expect(shrink(tempFile('picture', body), body.length, async () => {})).rejects.toThrow(reason);
  });
});

async function withPhoto(picture = noise(1000, 500)) {
  const photo = await jpeg(picture);
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg"/>';
  const site = await startFiles({ '/photo': photo, '/drawing': drawing });
  const database = await databaseOf(
    folio(1, 'ada', { avatar: `${site.url}/photo` }),
    folio(2, 'bob', { avatar: `${site.url}/drawing` }),
    shot(1, 2, { image: `${site.url}/photo` }),
  );
  const name = `${createHash('sha256').update(photo).digest('hex')}.jpg`;
  const small = SMALL_WIDTHS.map((width) => smallName(name, width));
  const folder = `${database}.media`;
  return { site, database, folder, name, small, files: [name, ...small].map(copyPath).sort() };
}

type Photo = Awaited<ReturnType<typeof withPhoto>>;

const fetchPhoto = ({ database, folder, site }: Photo, more: Partial<FetchOptions> = {}) =>
  fetchInto(database, [site.host], { mediaDir: folder, ...more });

const rasters = ({ folder }: Photo) => copiesIn(folder).filter((file) => !file.endsWith('.svg'));

const withoutSharp = () => Promise.reject(new NoSharp('no sharp'));

async function factsOf({ database, name }: Photo) {
  await using reader = await openReader(database);
  return (await reader.pictures([name, 'none.jpg'])).get(name);
}

describe('a fetch', () => {
  test('makes small pictures beside each copy, tells pages of them, and makes lost ones again', async () => {
    const photo = await withPhoto();
    const first = await fetchPhoto(photo);
    expect([first.failure, first.said, first.result.shrunk]).toEqual([undefined, '', 1]);
    expect(first.summary).toMatch(/\nsmall pictures made of 1 picture$/);
    expect(rasters(photo)).toEqual(photo.files);
    const color = expect.stringMatching(/^[0-9a-f]{6}$/);
    expect(await factsOf(photo)).toEqual({ width: 1000, height: 500, color, small: [240, 480, 960, 2048] });
    expect((await fetchPhoto(photo)).result.shrunk).toBe(0);
    rmSync(join(photo.folder, copyPath(photo.small[0] as string)));
    const checked = await run(['media', 'check', '--database-url', photo.database]);
    expect([checked.code, checked.stdout]).toEqual([1, 'copies: 1 sound, 1 missing, 0 damaged\n']);
    expect(checked.stderr).toContain(`${photo.small[0]} is missing: the copy of ${photo.site.url}/photo`);
    expect((await fetchPhoto(photo)).result.shrunk).toBe(0);
    expect((await fetchPhoto(photo, { check: true })).result.shrunk).toBe(1);
    expect(rasters(photo)).toEqual(photo.files);
  });

  test('that is stopped has made small pictures of what it fetched', async () => {
    const photos = [await jpeg(noise(1000, 500)), await jpeg(noise(900, 900))];
    // The last one never comes.
    const site = await startFiles({ '/0': photos[0] as Buffer, '/1': photos[1] as Buffer, '/2': () => {} });
    const avatars = [0, 1, 2].map((nth) => folio(nth + 1, `user${nth}`, { avatar: `${site.url}/${nth}` }));
    const database = await databaseOf(...avatars);
    const stopping = new AbortController();
    const shrink = await loadShrink();
    let shrunk = 0;
    const { failure, result, mediaDir } = await fetchInto(database, [site.host], {
      signal: stopping.signal,
      timeout: 200_000,
      loadShrink:
        async () =>
        async (...picture) => {
          const facts = await shrink(...picture);
          if (++shrunk === 2) stopping.abort();
          return facts;
        },
    });
    expect([failure, result.shrunk]).toEqual([expect.stringMatching(/^stopped;/), 2]);
    const names = photos.map((photo) => `${createHash('sha256').update(photo).digest('hex')}.jpg`);
    const small = names.flatMap((name) => SMALL_WIDTHS.map((width) => smallName(name, width)));
    // A picture of 900 pixels has two small pictures.
    expect(copiesIn(mediaDir)).toEqual([...names, ...small.slice(0, 6)].map(copyPath).sort());
    await using reader = await openReader(database);
    const facts = await reader.pictures(names);
    expect(names.map((name) => facts.get(name)?.small)).toEqual([[...SMALL_WIDTHS], [240, 480]]);
  });

  test('makes the small pictures that an earlier version did not make, once', async () => {
    const photo = await withPhoto();
    await fetchPhoto(photo);
    const database = new Database(photo.database);
    database.exec("UPDATE copies SET small = '480:0f3a 960:77b1' WHERE small <> ''");
    database.close();
    expect((await fetchPhoto(photo)).result.shrunk).toBe(1);
    expect(await factsOf(photo)).toMatchObject({ small: [240, 480, 960, 2048] });
    expect((await fetchPhoto(photo)).result.shrunk).toBe(0);
  });

  test('decodes a picture once that several addresses have', async () => {
    const photo = await jpeg(noise(1000, 500));
    const site = await startFiles({ '/0': photo, '/1': photo, '/2': photo });
    const avatars = [0, 1, 2].map((nth) => folio(nth + 1, `user${nth}`, { avatar: `${site.url}/${nth}` }));
    const { result } = await fetchInto(await databaseOf(...avatars), [site.host], { concurrency: 1 });
    expect([result.originals.fetched, result.shrunk]).toEqual([3, 1]);
  });

  test('leaves a picture alone that has ended three runs, and links the others', async () => {
    const photo = await withPhoto();
    let begun = 0;
    const ending = async () => async () => {
      begun++;
      throw new Error('no memory');
    };
    for (let runs = 1; runs <= 3; runs++)
      await expect(fetchPhoto(photo, { loadShrink: ending })).rejects.toThrow('no memory');
    const { failure, result } = await fetchPhoto(photo, { loadShrink: ending });
    expect([failure, result.originals.failed, begun]).toEqual([undefined, 0, 3]);
    const exported = await done(['export', '--media-urls', '--database-url', photo.database]);
    expect(exported.match(/\/media\//g)).toHaveLength(3);
  });

  test('tries to decode a picture three times, then leaves it alone', async () => {
    const photo = await withPhoto();
    const shrink = await loadShrink();
    const failing = async () => async () => {
      throw new DecodeError('too many open files');
    };
    const line = `${photo.site.url}/photo: no small pictures: too many open files\n`;
    for (const _ of ['first', 'second']) {
      const failed = await fetchPhoto(photo, { loadShrink: failing });
      expect([failed.failure, failed.said, failed.result.shrunk]).toEqual([undefined, line, 0]);
      expect(await factsOf(photo)).toBeUndefined();
    }
    expect((await fetchPhoto(photo, { loadShrink: async () => shrink })).result.shrunk).toBe(1);
    expect(await factsOf(photo)).toMatchObject({ width: 1000 });

    // A lost small picture makes it due again.
    rmSync(join(photo.folder, copyPath(photo.small[0] as string)));
    const said: string[] = [];
    for (let nth = 1; nth <= 4; nth++)
      said.push((await fetchPhoto(photo, { loadShrink: failing, check: true })).said);
    expect(said).toEqual([line, line, line, '']);
  });

  test('names the reason for which sharp cannot be loaded', async () => {
    const photo = await withPhoto();
    const hook = tempFile(
      'no-libvips.mjs',
      `import { registerHooks } from 'node:module';
       registerHooks({
         load(url, context, next) {
           if (/node_modules.sharp./.test(url)) throw new Error('libvips.so: cannot open shared object file\\nmore');
           return next(url, context);
         },
       });`,
    );
    const args = ['media', 'fetch', '--database-url', photo.database, '--media-hosts', photo.site.host];
    const { code, stderr } = await spawned(args, { env: { NODE_OPTIONS: `--import ${hook}` } });
    expect([code, stderr]).toEqual([
      0,
      'no small pictures are made, since sharp cannot be loaded: libvips.so: cannot open shared object file\n',
    ]);
  });

  test('without sharp leaves copies as they are, with one warning', async () => {
    const photo = await withPhoto();
    const { failure, said, result } = await fetchPhoto(photo, { loadShrink: withoutSharp });
    expect([failure, result.originals.fetched, result.shrunk]).toEqual([undefined, 3 - 1, 0]);
    expect(said).toBe('no sharp\n');
    expect(rasters(photo)).toEqual([copyPath(photo.name)]);
    expect(await factsOf(photo)).toBeUndefined();
  });

  test('holds --media-quota with small pictures as well', async () => {
    const photo = await withPhoto();
    await fetchPhoto(photo, { loadShrink: withoutSharp });
    const { failure } = await fetchPhoto(photo, { mediaQuota: 200_000 });
    expect(failure).toMatch(/^given up: the copies take all of --media-quota/);
  });

  test.each([
    ['of a new copy', false],
    ['of a copy of an earlier run', true],
  ])('leaves nothing of a user who is taken down while small pictures are made %s', async (_, isEarlier) => {
    const photo = await withPhoto();
    const shrink = await loadShrink();
    if (isEarlier) await fetchPhoto(photo, { loadShrink: withoutSharp });
    // The copy is removed, and then its small picture comes.
    const slow: Shrink = (path, bytes, onSmall) =>
      shrink(path, bytes, async (width, body) => {
        for (const name of width === 480 ? ['ada', 'bob'] : [])
          await done(['takedown', name, '--family', 'portfolio', '--database-url', photo.database]);
        await onSmall(width, body);
      });
    await fetchPhoto(photo, { loadShrink: async () => slow });
    expect(copiesIn(photo.folder)).toEqual([]);
  });
});

describe('media check', () => {
  const check = ({ database }: Photo, ...flags: string[]) =>
    run(['media', 'check', '--database-url', database, ...flags]);

  test('counts copies that have no small pictures yet', async () => {
    const photo = await withPhoto();
    await fetchPhoto(photo, { loadShrink: withoutSharp });
    expect(await check(photo)).toMatchObject({
      code: 0,
      stdout:
        'copies: 2 sound, 0 missing, 0 damaged\nwithout small pictures yet: 1. Run `vitrine media fetch`.\n',
    });
    await fetchPhoto(photo);
    expect((await check(photo)).stdout).toBe('copies: 2 sound, 0 missing, 0 damaged\n');
  });

  test('finds a small picture with other bytes; removed, a fetch makes it again', async () => {
    const photo = await withPhoto();
    await fetchPhoto(photo);
    const [name = ''] = photo.small;
    const place = join(photo.folder, copyPath(name));
    const sound = readFileSync(place);
    writeFileSync(place, Buffer.from(sound).fill('x', 200, 215));
    const { code, stdout, stderr } = await check(photo, '--remove-damaged');
    expect([code, stdout]).toEqual([1, 'copies: 1 sound, 0 missing, 1 damaged and removed\n']);
    expect(stderr).toContain(`${name} is damaged: the copy of ${photo.site.url}/photo`);
    expect(rasters(photo)).toEqual(photo.files.filter((file) => file !== copyPath(name)));
    expect((await fetchPhoto(photo, { check: true })).result).toMatchObject({
      originals: { fetched: 0 },
      shrunk: 1,
    });
    expect(readFileSync(place)).toEqual(sound);
    expect((await check(photo)).code).toBe(0);
  });
});

test('small pictures are served as copies are, and go when their copy goes', async () => {
  const photo = await withPhoto();
  await fetchPhoto(photo);
  const server = await serveHere({ DATABASE_URL: photo.database });
  const [small = ''] = photo.small;
  const got = await ask(server, `/media/${small}`);
  expect([got.status, got.headers['content-type'], got.headers.etag]).toEqual([
    200,
    'image/webp',
    `"${small.replace('.webp', '')}"`,
  ]);
  expect(got.headers['cache-control']).toContain('immutable');
  for (const name of [small.replace('-240', '-241'), small.replace('webp', 'jpg'), `${small}.webp`])
    expect((await ask(server, `/media/${name}`)).status).toBe(404);
  await done(['takedown', 'ada', '--family', 'portfolio', '--database-url', photo.database]);
  expect(rasters(photo)).toEqual(photo.files);
  await done(['takedown', 'bob', '--family', 'portfolio', '--database-url', photo.database]);
  expect(copiesIn(photo.folder)).toEqual([]);
});

test('pages of people offer small pictures to phones, with their sizes and colour', async () => {
  const photo = await withPhoto();
  await fetchPhoto(photo, { loadShrink: withoutSharp });
  const server = await serveHere({ DATABASE_URL: photo.database, MEDIA_URL, DIRECTORY: 'on' });
  const paths = ['/people/b/ada', '/people/b/bob', '/people/b/bob/1', '/people/b'];
  const before = await Promise.all(paths.map((path) => ask(server, path)));
  await fetchPhoto(photo);
  // No record changed, but what is known of a picture.
  for (const [nth, path] of paths.entries()) {
    const known = { 'if-none-match': before[nth]?.headers.etag ?? '' };
    const { status, headers, body } = await ask(server, path, { headers: known });
    expect([path, status, body.includes('-240.webp 240w')]).toEqual([path, 200, true]);
    const again = await ask(server, path, { headers: { 'if-none-match': headers.etag ?? '' } });
    expect([path, again.status]).toEqual([path, 304]);
  }
  const page = (await ask(server, '/people/b/bob')).body;
  expect(page).toContain('<meta property="og:image:width" content="1000">');
  const shown =
    /<svg class="tint"[^>]*><rect [^>]*fill="#[0-9a-f]{6}"\/><\/svg>.*?(<img [^>]*src="[^"]+jpg"[^>]*>)/s;
  const [tile = ''] = page.slice(page.indexOf('<li class="shot')).match(shown)?.slice(1) ?? [];
  const whole = `${MEDIA_URL}/${photo.name}`;
  // The last one has the picture's own width.
  const widths = [240, 480, 960, 1000];
  const srcset = photo.small.map((name, nth) => `${MEDIA_URL}/${name} ${widths[nth]}w`).join(', ');
  expect(tile).toContain(` src="${whole}" srcset="${srcset}" sizes="`);
  expect(tile).toContain(' width="1000" height="500" alt=""');
  expect(tile).not.toContain('loading="lazy"');
  const [avatar] =
    (await ask(server, '/people/b/ada')).body.match(/<span class="picture avatar.*?<img [^>]*>/s) ?? [];
  expect(avatar).toContain(` srcset="${srcset}" sizes="10rem" width="1000" height="500"`);
  // A drawing has no small pictures.
  expect(page).toMatch(
    /<span class="picture avatar.*?<img [^>]*src="[^"]+svg" width="160" height="160" alt="" data-initials="[A-Z]+">/s,
  );
});

test('no page loads a copy that is wider than its small pictures, but the page of a work leads to it', async () => {
  const photo = await withPhoto(noise(110, 55).resize(2200));
  await fetchPhoto(photo);
  const server = await serveHere({ DATABASE_URL: photo.database, MEDIA_URL });
  const whole = `${MEDIA_URL}/${photo.name}`;
  for (const path of ['/people/b/bob', '/people/b/bob/1']) {
    const { body } = await ask(server, path);
    const offered = [...body.matchAll(/ srcset="([^"]*)"/g)].map(([, srcset]) => srcset);
    expect([path, offered.length > 0]).toEqual([path, true]);
    for (const srcset of offered) expect(srcset).toMatch(/-2048\.webp 2048w$/);
  }
  expect((await ask(server, '/people/b/bob/1')).body).toContain(`<a class="frame" href="${whole}">`);
});

// A cover of 400 pixels has no small picture of 480.
test.each([
  [1000, 480],
  [400, 240],
] as const)(
  'the card as an image has the works, and a cover of %i pixels as the small picture of %i',
  async (width, small) => {
    const pictures = await Promise.all([1000, width, 900].map((each) => jpeg(noise(each, 500))));
    const site = await startFiles(Object.fromEntries(pictures.map((body, nth) => [`/${nth}`, body])));
    const [avatar, cover, image] = [0, 1, 2].map((nth) => `${site.url}/${nth}`);
    const database = await databaseOf(folio(1, 'ada', { avatar, cover_image: cover }), shot(1, 1, { image }));
    const { mediaDir } = await fetchInto(database, [site.host], { mediaDir: `${database}.media` });
    const server = await serveHere({ DATABASE_URL: database, MEDIA_URL, MEDIA_DIR: mediaDir });
    const { body } = await ask(server, '/card/b/ada.svg');
    const shown = [...body.matchAll(/<image href="data:image\/webp;base64,([^"]*)"/g)].map(
      ([, data]) => data,
    );
    const read = (nth: number, width: (typeof SMALL_WIDTHS)[number]) => {
      const name = createHash('sha256')
        .update(pictures[nth] as Buffer)
        .digest('hex');
      return readFileSync(join(mediaDir, copyPath(smallName(`${name}.jpg`, width))), 'base64');
    };
    expect(shown).toEqual([read(1, small), read(0, 240), read(2, 240)]);
  },
);
