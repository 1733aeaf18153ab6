// Runs for every test file: what it has started ends with its tests.
import { afterAll } from 'vitest';
import { cleanUp } from './at-end.ts';

afterAll(cleanUp);
