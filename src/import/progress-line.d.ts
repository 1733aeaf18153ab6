// The types of progress-line.js.
export function drawn(line: string, columns: number | undefined): string;
export function describeStep(name: string, seconds: number, share?: number): string;
export function bar(share: number): string;
export function secondsLeft(share: number, seconds: number): number;
