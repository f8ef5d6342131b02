import { defineConfig } from 'vitest/config';
import { RunReporter } from './results/run-reporter.ts';

// One guest at a time: it has as many processors as a small machine gives.
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/lab/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    reporters: ['default', new RunReporter()],
  },
});
