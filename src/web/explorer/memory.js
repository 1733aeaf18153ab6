// @ts-check
// What this browser remembers of the last visits: the variant, the user, and whom else it looked at.

const PLACE = 'vitrine';
const MOST = 8;

/** @typedef {{ variant?: string, user?: string, recent: string[] }} Memory */

/** @returns {Memory} */
export function recall() {
  try {
    const { variant, user, recent } = JSON.parse(localStorage.getItem(PLACE) ?? '{}');
    return {
      ...(isText(variant) && { variant }),
      ...(isText(user) && { user }),
      recent: Array.isArray(recent) ? recent.filter(isText).slice(0, MOST) : [],
    };
  } catch {
    return { recent: [] };
  }
}

/** @param {Memory} memory @param {string} variant @param {string} user */
export function remember(memory, variant, user) {
  memory.variant = variant;
  memory.user = user;
  memory.recent = [user, ...memory.recent.filter((name) => name !== user)].slice(0, MOST);
  try {
    localStorage.setItem(PLACE, JSON.stringify(memory));
  } catch {
    // A browser that keeps nothing still shows everything.
  }
}

/** @param {unknown} value @returns {value is string} */
const isText = (value) => typeof value === 'string';
