// The generated requests of test/fuzz.test.ts, ten times as many.
process.env.FUZZ_REQUESTS ??= '200000';
await import('../fuzz.test.ts');
