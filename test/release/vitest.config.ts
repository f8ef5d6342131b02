import { defineConfig } from 'vitest/config';

/** Slow, and in need of packages that no other test needs: kept apart from the normal run. */
export default defineConfig({
  test: {
    include: ['test/release/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    // Files are written and removed by the thousand here, which takes as long as a busy disk wants.
    testTimeout: 60_000,
  },
});
