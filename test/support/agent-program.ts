/**
 * The agent's program as tests start it: bundled once for the run, since from the sources each start reads, strips and compiles hundreds of files
 * for twice the time; from the sources where nobody has bundled it.
 */
import { join } from 'node:path';

export const AGENT_PROGRAM_VARIABLE = 'TURNSTONE_TEST_PROGRAM';
export const AGENT_PROGRAM = process.env[AGENT_PROGRAM_VARIABLE] ?? join(import.meta.dirname, '../../src/main.ts');
