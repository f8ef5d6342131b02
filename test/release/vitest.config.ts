import { defineConfig } from 'vitest/config';

/** Slow, and in need of packages that no other test needs: kept apart from the normal run. */
export default defineConfig({ test: { include: ['test/release/**/*.test.ts'], pool: 'forks', maxWorkers: 1 } });
