// Which file answers a request, at hosts that run code. Their program begins with a line that defines SITE.

/**
 * The file, and the error if there is none; an error alone where no file is looked for. A row consists of a pattern, an error, a
 * file, and a host if it is for that alone.
 */
export function route(host, target) {
  const at = `${target}?`.indexOf('?');
  const path = unescapePlain(target.slice(0, at));
  if (decode(path) === undefined) return { error: 'BAD_ESCAPE' };
  const address = path.replace(/&/g, '%26') + canonicalQuery(target.slice(at + 1));
  for (const [pattern, error, file, only = host] of SITE.rows) {
    const found = only === host ? new RegExp(`^${pattern}$`).exec(address) : null;
    if (found !== null) return file === '' ? { error } : locate(file, error, found.slice(1).map(decode));
  }
  return { error: 'ROUTE_NOT_FOUND' };
}

/** Puts the keys of the names that an address has into the path of the file. */
function locate(pattern, error, names) {
  const fault = names.map(nameFault).find(Boolean);
  if (fault !== undefined) return { error: fault };
  const file = pattern.replace(/\$(\d)/g, (_, group) => encodeURIComponent(userKey(names[group - 1])));
  return { file, error };
}

function nameFault(name) {
  if (name === undefined) return 'BAD_ESCAPE';
  if (name.length > 255 && [...name.normalize('NFC')].length > 255) return 'USER_TOO_LONG';
  return /[^ -~\u00A0-\uFFFF]/.test(name) ? 'USER_MALFORMED' : undefined;
}

/** The parameters that matter, in the order and with the escapes of canonical addresses. */
function canonicalQuery(text) {
  const found = { before: [], user: [], post: [] };
  for (const part of text.split('&')) {
    const at = `${part}=`.indexOf('=');
    const name = decode(part.slice(0, at).replaceAll('+', ' '));
    const value = decode(part.slice(at + 1).replaceAll('+', ' '));
    const escaped = value === undefined ? '%' : encodeURIComponent(value);
    if (Object.hasOwn(found, name)) found[name].push(`${name}=${escaped}`);
  }
  const all = [...found.before, ...found.user, ...found.post];
  return all.length === 0 ? '' : `?${all.join('&')}`;
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Letters, digits and marks that need no escape. */
const unescapePlain = (path) =>
  path.replace(/%[2-7][0-9a-f]/gi, (escaped) => {
    const character = decodeURIComponent(escaped);
    return /[\w.!~*'()-]/.test(character) ? character : escaped;
  });

/** As in records/user-name.ts; a test compares them. */
const userKey = (name) =>
  /^[ -~]*$/.test(name)
    ? name.toLowerCase()
    : name.normalize('NFD').replace(/[^ı]+/g, foldCase).normalize('NFC');

const foldCase = (text) => text.toLowerCase().toUpperCase().toLowerCase().replace(/ς/g, 'σ');

/** The headers of a file that is there. */
export function findHeaders(file) {
  const type = SITE.types[file.slice(file.lastIndexOf('.') + 1)];
  const kind = SITE.headers[file] === undefined ? file.split('/')[0] : file;
  return { 'content-type': type, ...SITE.headers[kind] };
}
