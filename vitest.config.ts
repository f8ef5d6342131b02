import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { hashOfSource } from './test/simulation/ledger.ts';

const SEEDED = fileURLToPath(new URL('test/support/seeded-fast-check.ts', import.meta.url));

// Two cores: files run in two workers; tests that start whole processes get time for it.
export default defineConfig({
  resolve: { alias: [{ find: /^fast-check$/, replacement: SEEDED }] },
  test: {
    env: { FAST_CHECK_SEED: String(Number.parseInt(hashOfSource().slice(0, 8), 16)) },
    include: ['test/{unit,contract,integration}/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'json-summary'], reportsDirectory: 'build/coverage' },
  },
});
