// The types of files by their content, and the folder that copies are kept in.
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileType } from '../src/media/file-type.ts';
import { createMediaFolder, type MediaFolder, type StoredFile } from '../src/media/folder.ts';
import { avif, gif, jpeg, mp3, mp4, pdf, png, sha256, svg, webp } from './pictures.ts';
import { tempFolder } from './rig.ts';

describe('the type by content', () => {
  test.each([
    ['jpg', jpeg()],
    ['png', png()],
    ['gif', gif()],
    ['gif', Buffer.from('GIF87a…')],
    ['webp', webp()],
    ['avif', avif()],
    ['avif', Buffer.from('\0\0\0\x20ftypavif\0\0\0\0', 'latin1')],
    ['svg', svg()],
    ['mp3', mp3()],
    ['mp3', Buffer.from('fffb9064', 'hex')],
    ['mp4', mp4()],
    ['pdf', pdf()],
  ])('%s', (extension, head) => {
    expect(fileType(head, true)).toBe(extension);
  });

  test.each([
    '\ufeff<svg/>',
    ' \r\n<svg>',
    '<?xml version="1.0"?>\n<svg\nxmlns="http://www.w3.org/2000/svg">',
    '<?xml version="1.0"?><!-- a -- > b --><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x.dtd"><!-- --><svg >',
    '<!DOCTYPE svg [ <!ENTITY ns "http://www.w3.org/2000/svg"> ]><svg xmlns="&ns;">',
    '<svg:svg xmlns:svg="http://www.w3.org/2000/svg">',
    '<svg onload="alert(1)"><script>alert(1)</script></svg>',
  ])('svg: %s', (text) => {
    expect(fileType(Buffer.from(text), false)).toBe('svg');
  });

  test.each([
    ['', 'empty'],
    ['<!doctype html><svg></svg>', 'not a picture, but a web page'],
    ['\n<HTML>', 'not a picture, but a web page'],
    ['<!-- x --><html><svg/></html>', 'not a picture, but a web page'],
    ['{"error":"gone"}', 'not a picture, but JSON'],
    ['[]', 'not a picture, but JSON'],
    ['<svgx>', 'not a picture of a known type'],
    ['<?xml version="1.0"?><rss/>', 'not a picture of a known type'],
    ['PNG', 'not a picture of a known type'],
    ['RIFF\0\0\0\0WAVE', 'not a picture of a known type'],
    ['\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'not a picture of a known type'],
    ['GIF', 'not a picture of a known type'],
  ])('%j is refused', (text, reason) => {
    expect(fileType(Buffer.from(text, 'latin1'), true)).toEqual({ reason });
  });

  test.each([mp3(), mp4(), pdf()])('other files than pictures are refused unless they are wanted', (head) => {
    expect(fileType(head, false)).toEqual({
      reason: expect.stringMatching(/^not a picture, but .* --files/),
    });
  });

  test.each(['<!--', '<?', '<!DOCTYPE svg [', ' <!-- -->'])('%j many times does not take long', (text) => {
    expect(fileType(Buffer.from(text.repeat(16_384 / text.length)), false)).toHaveProperty('reason');
  });
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
    expect([await folder.readSize(name), leftovers(folder)]).toEqual([png('a').length, []]);
  });

  test('makes a file young that is brought again, so that pruning spares it', async () => {
    const folder = await newFolder();
    const { name } = await keep(folder, png('a'));
    utimesSync(folder.findPlace(name), new Date(0), new Date(0));
    const asked = Date.now();
    await keep(folder, png('a'));
    expect(filesOf(folder)[0]?.changed).toBeGreaterThanOrEqual(asked - 1);
  });

  test('replaces a file of another size, which is damaged', async () => {
    const folder = await newFolder();
    const { name } = await keep(folder, png('a'));
    writeFileSync(folder.findPlace(name), 'x');
    expect(await keep(folder, png('a'))).toEqual({ name, isNew: true });
    expect(readFileSync(folder.findPlace(name))).toEqual(png('a'));
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
    expect([await folder.readSize(first), filesOf(folder).length]).toEqual([undefined, 2]);
  });

  test('that does not exist is empty', async () => {
    expect(filesOf(createMediaFolder('/nowhere'))).toEqual([]);
  });

  test('takes one file from several at once', async () => {
    const folder = await newFolder();
    await Promise.all(Array.from({ length: 10 }, () => keep(folder, png('a'))));
    expect([filesOf(folder).length, leftovers(folder)]).toEqual([1, []]);
  });

  test('removes what killed fetches have left, but no file that may be under way', async () => {
    const folder = await newFolder();
    const [old, young] = ['old', 'young'].map((name) => join(folder.path, 'incoming', name)) as [
      string,
      string,
    ];
    for (const file of [old, young]) writeFileSync(file, 'x');
    utimesSync(old, new Date(), new Date(Date.now() - 2 * 60 * 60 * 1000));
    await folder.prepare();
    expect(leftovers(folder)).toEqual(['young']);
  });

  test('that cannot be written is named', async () => {
    const file = join(tempFolder(), 'file');
    writeFileSync(file, 'x');
    await expect(createMediaFolder(file).prepare()).rejects.toThrow(`cannot write ${file}: `);
  });
});
