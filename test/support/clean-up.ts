// Runs for every test file: what it has started ends with its tests.
import { afterAll } from 'vitest';

// Loaded late: some files change modules of src/ before these are used.
afterAll(async () => (await import('./rig.ts')).cleanUp());
