// A generation numbers the states of the data. It is the time of the import, in microseconds since 1970.

/** Data that was imported by an early version has a small number, whose time is not known. */
const EARLIEST = 1e12;

/** The time of a generation in seconds since 1970, if it is known. */
export const importTime = (generation: number) => (generation < EARLIEST ? undefined : generation / 1e6);
