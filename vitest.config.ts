import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { hashOfSource } from './test/simulation/ledger.ts';

const SEEDED = fileURLToPath(new URL('test/support/seeded-fast-check.ts', import.meta.url));

/** They measure memory or CPU time of their own process. */
const ALONE = ['{src,test/unit}/**/{costs,encoding,line-reader,report-reader}.test.ts'];

/** The integration tests of the quick loop: each kills what holds a promise of the README, and looks at what is left. */
const PROMISES = ['test/integration/{firmware-kill-points,outbox-crash,provisioning-kills,rpc-exactly-once}.test.ts'];

// Two cores: files run in three workers, as one or the other always waits for what it has started; tests that start whole processes get time for
// it. A process and all imports for each file of a room would cost more than what is tested there: those share the workers' processes, and
// `clean-slate` holds them to leave nothing behind.
export default defineConfig({
  resolve: { alias: [{ find: /^fast-check$/, replacement: SEEDED }] },
  test: {
    env: { FAST_CHECK_SEED: String(Number.parseInt(hashOfSource().slice(0, 8), 16)) },
    globalSetup: ['test/support/compile-cache.ts', 'test/support/memory-folder.ts'],
    pool: 'forks',
    maxWorkers: 3,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is waited for comes; a busy machine decides when.
    expect: { poll: { timeout: 60_000 } },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/**/*.test.ts'],
      reporter: ['text-summary', 'json-summary'],
      reportsDirectory: 'build/coverage',
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'rooms',
          include: ['test/{unit,contract,field-cases}/**/*.test.ts', 'src/**/*.test.ts'],
          exclude: ALONE,
          isolate: false,
          setupFiles: ['test/support/clean-slate.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'processes',
          include: [...PROMISES, ...ALONE],
          globalSetup: ['test/support/bundled-agent.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'rest',
          include: ['test/{integration,journeys}/**/*.test.ts'],
          exclude: PROMISES,
          globalSetup: ['test/support/bundled-agent.ts'],
        },
      },
    ],
  },
});
