/** Reproductions of what a look at issue 33 found; apart from the suite, since each fails until it is mended. */
import { defineConfig } from 'vitest/config';

export default defineConfig({ test: { include: ['test/look/*.test.ts'], testTimeout: 60_000 } });
