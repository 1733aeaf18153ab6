// The generated requests of test/fuzz.test.ts, twelve times as many.
process.env.FUZZ_REQUESTS ??= '60000';
await import('../fuzz.test.ts');
