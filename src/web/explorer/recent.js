// @ts-check
// Remembers the last variant and the last users in this browser's localStorage.

const MAX_RECENT = 8;

/** @typedef {{ key: string, variant?: string, user?: string, users: string[] }} Recent */

/** @param {string} key the name it is stored under @returns {Recent} */
export function loadRecent(key) {
  try {
    const { variant, user, recent } = JSON.parse(localStorage.getItem(key) ?? '{}');
    return {
      key,
      ...(isText(variant) && { variant }),
      ...(isText(user) && { user }),
      users: Array.isArray(recent) ? recent.filter(isText).slice(0, MAX_RECENT) : [],
    };
  } catch {
    return { key, users: [] };
  }
}

/** @param {Recent} recent @param {string} variant @param {string} user */
export function saveRecent(recent, variant, user) {
  recent.variant = variant;
  recent.user = user;
  recent.users = [user, ...recent.users.filter((name) => name !== user)].slice(0, MAX_RECENT);
  try {
    localStorage.setItem(recent.key, JSON.stringify({ variant, user, recent: recent.users }));
  } catch {
    // Storage may be full or blocked; the page works without it.
  }
}

/** @param {unknown} value @returns {value is string} */
const isText = (value) => typeof value === 'string';
