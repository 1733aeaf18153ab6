// What a cache in front of the server must tell apart, and what it must not.
export const ADA = '/a/api/?user=ada';
export const SHOTS = '/b/api/username/ada/shots';

/** Addresses whose unknown parameters do not matter: what is cached for the first serves the second. */
export const SAME: [warm: string, url: string][] = [
  [ADA, '/a/api/?user=ada&page=2'],
  [ADA, '/a/api/?utm_source=x&user=ada&fbclid=y'],
  [ADA, '/a/api/?&user=ada&'],
  [ADA, '/a/api/?User=pekka&user=ada&post_=true&xuser=tane'],
  [`${ADA}&post=true`, '/a/api/?post=true&user=ada'],
  [`${ADA}&post=true`, '/a/api/?x&post=true&y=post=1&user=ada&z'],
  [ADA, '/a/api/?us+er=pekka&x=%zz&user=ada'],
  ['/a/api?user=ada', '/a/api?x&user=ada'],
  [SHOTS, `${SHOTS}?page=2&user=pekka`],
  ['/b/api/username/pekka', '/b/api/username/pekka?'],
  ['/b/api/username/api', '/b/api/username/api?x=1'],
  ['/people/b/ada', '/people/b/ada?x=1&user=pekka'],
  ['/people/b/api', '/people/b/api?x=1&user=ada'],
  ['/feeds/b/ada.atom', '/feeds/b/ada.atom?%78=1'],
  ['/feeds/b/ada.json', '/feeds/b/ada.json?user=pekka'],
  ['/card/b/ada.svg', '/card/b/ada.svg?x'],
  ['/people/b', '/people/b?x=1'],
  ['/', '/?variant=b&user=ada'],
  ['/embed.js', '/embed.js?v=1'],
  ['/openapi.json', '/openapi.json?x=1?y'],
];

/** Queries that proxies do not understand: they are passed on as they are, and their responses are not stored. */
export const PASSED_ON = [
  '/a/api/?user=ada&%78=1',
  '/a/api/?us+er=pekka&%zz&user=ada',
  '/a/api/?%75se%72=ada',
  '/a/api/?x=1&p%6Fs%74=true&%75ser=ada',
  '/a/api/?user=ada&post',
  '/a/api/?user=ada&user=pekka',
];

const QUERIES = [
  '',
  '?',
  '?user',
  '?user=',
  '?post=true',
  '?user&user=ada',
  '?user=ada&user=pekka',
  '?user=pekka&user=ada',
  '?%75ser=ada',
  '?%75ser=ada&user=pekka',
  '?user=pekka&%75ser=ada',
  '?User=ada',
  '?user=ada&post=true&post=true',
  '?user=ada&post',
  '?user=ada&post=',
  '?user=ada&post=1',
  '?user=ada&%70ost=true',
  '?user=a%64a',
  '?user=%',
  '?user=mo+farouk',
  '?user=ada?user=pekka',
  '?x?user=ada',
  '?user=ada&x=%20&us+er=1',
  '?user=mo%20farouk',
  '?user=ada%26post=true',
  '?user=ada;post=true',
].map((query) => `/a/api/${query}`);
const PATHS = [
  '/b/api/username/ada',
  '/b/api/username/ada%2Fshots',
  '/b/api/username/ada/shots',
  '/b/api/username/ada/shots?post=true',
  '/b/api/username/ada/shots/',
  '/b/api/username//shots',
  '//b/api/username/ada',
  '/b/api/username/ada/../pekka',
  '/b/api/username/a%64a',
  '/b/api/username/ada%3Fx',
  '/b/api/username/ADA',
  '/a/api?user=ada',
  '/c/api/username/ada',
  '/deep/in/some.site/api/username/ada',
  '/deep/in/some.site/api/username/ada/shots',
  '/healthz?user=ada',
];

/** A response cached for one of these must never be sent for another. */
export const APART = [...QUERIES, ...PASSED_ON, ...PATHS];

/** What is in the cache when they are asked for. */
export const WARM = [ADA, `${ADA}&post=true`, SHOTS, '/a/api/?user=pekka', '/b/api/username/pekka'];

/** Settings under which all of them have an answer. */
export const SETTINGS = {
  DIRECTORY: 'on',
  CACHE_CONTROL: 'public, max-age=600',
  BASE_URL_C: '/deep/in/some.site',
};
