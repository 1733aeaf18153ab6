type Hue = readonly [from: string, to: string];
export const HUES: readonly [Hue, ...Hue[]];
export function chooseHue(seed: string): number;
export function visible(text: string): string;
export function takeInitials(text: string): string;
export function distinctInitials(titles: readonly string[]): string[];
export function writtenDate(date: string): string;
export function grouped(digits: string): string;
export function shownPrice(price: string): string;
