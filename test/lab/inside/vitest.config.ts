import { defineConfig } from 'vitest/config';

// Suites that run inside a guest, where the checkout is read-only.
export default defineConfig({
  cacheDir: '/tmp/vite',
  test: {
    root: '/lab',
    include: ['test/lab/inside/*.inside.ts', 'test/contract/hardware/**/*.test.ts'],
    // The epoll package serves the main thread only.
    pool: 'forks',
    maxWorkers: 1,
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
