// The generated requests of test/api/fuzz.test.ts, ten times as many: others in each run.
process.env.FUZZ_REQUESTS ??= '20000';
await import('./fuzz.test.ts');
