// The types of files by their content, and the folder that copies are kept in.
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createMediaFolder, type MediaFolder, type StoredFile } from '../../src/stores/media-folder.ts';
import { nameUnfinished } from '../../src/stores/output.ts';
import { fileType } from '../../src/tools/media/receive.ts';
import { tempFolder } from '../support/files.ts';
import { avif, gif, jpeg, mp3, mp4, pdf, png, sha256, svg, webp } from '../support/pictures.ts';

test.each([
  [[jpeg()], 'jpg'],
  [[png()], 'png'],
  [[gif(), 'GIF87a'], 'gif'],
  [[webp()], 'webp'],
  [[avif(), '\0\0\0\x20ftypavif\0\0\0\0'], 'avif'],
  [
    [svg(), '\u00ef\u00bb\u00bf<svg/>', ' \r\n<svg>', '<svg:svg xmlns:svg="x">', '<svg onload="alert(1)">'],
    'svg',
  ],
  [['<?xml version="1.0"?><!-- a -- > b --><!DOCTYPE svg PUBLIC "-//W3C" "x.dtd"><!-- --><svg >'], 'svg'],
  [['<!DOCTYPE svg [ <!ENTITY ns "http://x"> ]>\n<svg\nxmlns="&ns;">'], 'svg'],
  [[mp3(), '\xff\xfb\x90\x64'], 'mp3'],
  [[mp4()], 'mp4'],
  [[pdf()], 'pdf'],
  [[''], 'empty'],
  [['<!doctype html><svg>', '\n<HTML>', '<!-- x --><html><svg>'], 'not a picture, but a web page'],
  [['{"error":"gone"}', '[]'], 'not a picture, but JSON'],
  [['<svgx>', '<?xml version="1.0"?><rss/>', 'PNG', 'GIF'], 'not a picture of a known type'],
  [['RIFF\0\0\0\0WAVE', '\0\0\0\x18ftypheic\0\0\0\0mif1heic'], 'not a picture of a known type'],
])('the type of %j by its content: %s', (heads, expected) => {
  for (const head of heads) {
    const type = fileType(typeof head === 'string' ? Buffer.from(head, 'latin1') : head, true);
    expect(typeof type === 'string' ? type : type.reason).toBe(expected);
  }
});

test('other files than pictures are refused unless they are wanted; no text takes long', () => {
  for (const head of [mp3(), mp4(), pdf()])
    expect(fileType(head, false)).toEqual({
      reason: expect.stringMatching(/^not a picture, but .* --files/),
    });
  for (const text of ['<!--', '<?', '<!DOCTYPE svg [', ' <!-- -->', ' '])
    expect(fileType(Buffer.from(text.repeat(16_384 / text.length)), false)).toHaveProperty('reason');
});

describe('the folder', () => {
  async function newFolder(): Promise<MediaFolder> {
    const folder = createMediaFolder(join(tempFolder(), 'site.db.media'));
    await folder.prepare();
    return folder;
  }

  async function keep(folder: MediaFolder, body: Buffer, name = `${sha256(body)}.png`) {
    const file = await folder.receive();
    await file.write(body.subarray(0, 4));
    await file.write(body.subarray(4));
    const isNew = await file.keep(name);
    await file.discard();
    return { name, isNew };
  }

  function filesOf(folder: MediaFolder): StoredFile[] {
    return [...folder.pages()].flat();
  }

  const leftovers = ({ path }: MediaFolder) => readdirSync(join(path, 'incoming'));

  test('keeps a file under its name, once', async () => {
    const folder = await newFolder();
    const { name, isNew } = await keep(folder, png('a'));
    const place = join(folder.path, name.slice(0, 2), name);
    expect([isNew, readFileSync(place)]).toEqual([true, png('a')]);
    const { ino } = statSync(place);
    expect([(await keep(folder, png('a'))).isNew, statSync(place).ino]).toEqual([false, ino]);
    expect([folder.readSize(name), leftovers(folder)]).toEqual([png('a').length, []]);
  });

  test('replaces a damaged file, and renews a sound one, so that pruning spares it', async () => {
    const folder = await newFolder();
    const { name } = await keep(folder, png('a'));
    utimesSync(folder.findPlace(name), new Date(0), new Date(0));
    const asked = Date.now();
    await keep(folder, png('a'));
    expect(filesOf(folder)[0]?.changed).toBeGreaterThanOrEqual(asked - 1);
    for (const damaged of ['x', png('b')]) {
      writeFileSync(folder.findPlace(name), damaged);
      expect(await keep(folder, png('a'))).toEqual({ name, isNew: true });
      expect(readFileSync(folder.findPlace(name))).toEqual(png('a'));
    }
  });

  test('is listed without what does not belong to it', async () => {
    const folder = await newFolder();
    const names = await Promise.all(
      ['a', 'b', 'c'].map(async (text) => (await keep(folder, png(text))).name),
    );
    const [first = ''] = names;
    writeFileSync(join(folder.path, first.slice(0, 2), 'notes.txt'), 'x');
    const underWay = await folder.receive();
    const files = filesOf(folder);
    expect(files.map(({ name }) => name)).toEqual(names.sort());
    expect(files[0]).toEqual({ name: names[0], bytes: png('a').length, changed: expect.any(Number) });
    await underWay.discard();
    await folder.remove(first);
    expect([folder.readSize(first), filesOf(folder).length]).toEqual([undefined, 2]);
    expect(filesOf(createMediaFolder('/nowhere'))).toEqual([]);
  });

  test('takes one file from several at once', async () => {
    const folder = await newFolder();
    await Promise.all(Array.from({ length: 10 }, () => keep(folder, png('a'))));
    expect([filesOf(folder).length, leftovers(folder)]).toEqual([1, []]);
  });

  test('removes what killed fetches have left, but no file that may be under way', async () => {
    const folder = await newFolder();
    const [old, young] = ['old', 'young'].map((name) => nameUnfinished(join(folder.path, 'incoming', name)));
    for (const file of [old, young]) writeFileSync(file as string, 'x');
    utimesSync(old as string, new Date(), new Date(Date.now() - 25 * 60 * 60 * 1000));
    await folder.prepare();
    expect(leftovers(folder)).toEqual([basename(young as string)]);
  });

  test('that cannot be written is named', async () => {
    const file = join(tempFolder(), 'file');
    writeFileSync(file, 'x');
    await expect(createMediaFolder(file).prepare()).rejects.toThrow(`cannot write ${file}: `);
  });
});
