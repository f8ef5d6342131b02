import { defineConfig } from 'vitest/config';

// Two cores: files run in two workers; tests that start whole processes get time for it.
export default defineConfig({
  test: {
    include: ['test/{unit,contract,integration}/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'json-summary'], reportsDirectory: 'build/coverage' },
  },
});
