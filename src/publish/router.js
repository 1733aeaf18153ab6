// Which file answers a request, at hosts that run code: their program is this file behind a line that defines SITE, and
// before a few lines of its own. Written in what CloudFront Functions know: no `for…of`, spread or destructuring.

/* global SITE */

/** The file, and the error if there is none; an error alone where no file is looked for. */
export function route(host, target) {
  const at = `${target}?`.indexOf('?');
  const path = unescapePlain(target.slice(0, at));
  if (decode(path) === undefined) return { error: 'BAD_ESCAPE' };
  const address = path.replace(/&/g, '%26') + canonicalQuery(target.slice(at + 1));
  const extension = SITE.extensions[path];
  const folder = SITE.hosts.indexOf(host) < 0 ? SITE.folder : `site@${host}`;
  if (extension !== undefined && folder !== '')
    return { file: folder + (path === '/' ? '/index' : path) + extension, error: 'ROUTE_NOT_FOUND' };
  const isHere = (row) => row[3] === undefined || SITE.hosts[row[3]] === host;
  const row = SITE.rows.find((one) => isHere(one) && matcher(one).test(address));
  if (row === undefined || row[2] === '') return { error: row ? row[1] : 'ROUTE_NOT_FOUND' };
  return locate(row[2], row[1], matcher(row).exec(address).slice(1).map(decode));
}

/** A row consists of a pattern, an error, a file, and the number of the host if others answer elsewhere. */
const matcher = (row) => new RegExp(`^${row[0]}(?:\\?.*)?$`);

/** Puts the keys of the names that an address has into the path of the file. */
function locate(file, error, names) {
  const fault = names.map(nameFault).find(Boolean);
  if (fault !== undefined) return { error: fault };
  const spell = (_, group) => encodeURIComponent(userKey(names[group - 1]));
  return { file: file.replace(/\$(\d)/g, spell), error };
}

function nameFault(name) {
  if (name === undefined) return 'BAD_ESCAPE';
  if (name.length > 255 && Array.from(normalize(name, 'NFC')).length > 255) return 'USER_TOO_LONG';
  return /[^ -~\u00A0-\uFFFF]/.test(name) ? 'USER_MALFORMED' : undefined;
}

/** The parameters that matter, in the order and with the escapes of canonical addresses. */
function canonicalQuery(text) {
  const users = [];
  const posts = [];
  text.split('&').forEach((part) => {
    const at = `${part}=`.indexOf('=');
    const name = decode(part.slice(0, at).replace(/\+/g, ' '));
    const value = decode(part.slice(at + 1).replace(/\+/g, ' '));
    const escaped = value === undefined ? '%' : encodeURIComponent(value);
    if (name === 'user') users.push(`user=${escaped}`);
    if (name === 'post') posts.push(`post=${escaped}`);
  });
  const all = users.concat(posts);
  return all.length === 0 ? '' : `?${all.join('&')}`;
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch (_) {
    return undefined;
  }
}

/** Letters, digits and marks that need no escape. */
const unescapePlain = (path) =>
  path.replace(/%[2-7][0-9a-f]/gi, (escaped) => {
    const character = decodeURIComponent(escaped);
    return /[\w.!~*'()-]/.test(character) ? character : escaped;
  });

/** As in records/user-name.ts. */
const userKey = (name) =>
  /^[ -~]*$/.test(name)
    ? name.toLowerCase()
    : normalize(normalize(name, 'NFD').replace(/[^ı]+/g, foldCase), 'NFC');

const normalize = (name, form) => (name.normalize ? name.normalize(form) : name);

const foldCase = (text) => text.toLowerCase().toUpperCase().toLowerCase().replace(/ς/g, 'σ');

/** The headers of a file that is there. */
export function findHeaders(file) {
  const type = SITE.types[file.slice(file.lastIndexOf('.') + 1)];
  const kind = SITE.headers[file] === undefined ? file.split('/')[0] : file;
  return Object.assign({ 'content-type': type }, SITE.headers[kind]);
}
