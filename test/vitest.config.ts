// The tests are black-box and start servers, browsers and imports of their own: hence the long time-outs.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: `${import.meta.dirname}/..`,
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    reporters: ['default'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
