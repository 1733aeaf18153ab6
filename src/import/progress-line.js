// A line of progress, as a command and its clock show it. It is JavaScript because the clock's thread would load a compiler
// of 10 MB for TypeScript.

const BAR_WIDTH = 24;

/** A line: on a terminal it takes the place of the one before. */
export const drawn = (line, columns) =>
  columns === undefined ? `${line}\n` : `\r${line.slice(0, columns - 1)}\x1b[K`;

export function describeStep(name, seconds, share) {
  const time = seconds < 1 ? ' …' : `, ${Math.floor(seconds)} s`;
  if (share === undefined || share === 0) return `${name}${time}`;
  return `${name}  ${bar(share)}${time}, ${secondsLeft(share, seconds)} s left`;
}

/** A bar with its percentage. */
export function bar(share) {
  const filled = Math.round(share * BAR_WIDTH);
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${Math.floor(share * 100)}%`;
}

/** An estimate: `seconds` were needed for `share` of the task. */
export const secondsLeft = (share, seconds) => (share > 0 ? Math.ceil((seconds / share) * (1 - share)) : 0);
