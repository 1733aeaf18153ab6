// The generated requests of test/fuzz.test.ts, three times as many.
process.env.FUZZ_REQUESTS ??= '60000';
await import('../fuzz.test.ts');
