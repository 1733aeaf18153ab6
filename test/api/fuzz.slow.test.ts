// The generated requests of test/api/fuzz.test.ts, fifty times as many.
process.env.FUZZ_REQUESTS ??= '100000';
await import('./fuzz.test.ts');
