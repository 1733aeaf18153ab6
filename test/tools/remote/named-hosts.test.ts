import { expect, test } from 'vitest';
import { host } from '../../../src/cli/options.ts';
import { refusal } from '../../../src/tools/remote/file-client.ts';

const ADDRESSES = [
  'http://h.example/p',
  'https://h.example/p',
  'http://h.example:8080/p',
  'https://h.example:80/p',
  'http://h.example:443/p',
  'http://[2001:db8::1]/p',
  'https://[2001:db8::1]/p',
];

// Without a port, the usual one of each scheme.
test.each([
  ['h.example', ['http://h.example/p', 'https://h.example/p']],
  ['H.example', ['http://h.example/p', 'https://h.example/p']],
  ['h.example:80', ['http://h.example/p', 'https://h.example:80/p']],
  ['h.example:443', ['https://h.example/p', 'http://h.example:443/p']],
  ['h.example:8080', ['http://h.example:8080/p']],
  ['example', []],
  ['[2001:db8::1]', ['http://[2001:db8::1]/p', 'https://[2001:db8::1]/p']],
  ['[2001:db8::1]:80', ['http://[2001:db8::1]/p']],
])('what --media-hosts %s lets through', (named, asked) => {
  const hosts = { sites: [], named: [host(named)], option: '--media-hosts' };
  expect(ADDRESSES.filter((url) => refusal(url, hosts) === undefined)).toEqual(asked);
});

test('a host that is refused is named as the option takes it', () => {
  for (const address of ADDRESSES) {
    const [reason = ''] = [refusal(address, { sites: [], named: [], option: '--media-hosts' })?.reason];
    const [word = ''] = reason.split(' ');
    const hosts = { sites: [], named: [host(word)], option: '--media-hosts' };
    expect(refusal(address, hosts)).toBe(undefined);
  }
});
