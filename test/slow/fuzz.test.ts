// The generated requests of test/fuzz.test.ts, twenty times as many.
process.env.FUZZ_REQUESTS ??= '40000';
await import('../fuzz.test.ts');
