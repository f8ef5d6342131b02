/**
 * fast-check, drawing from the state of `src`: each state of it is tried with other values, and the same ones on every machine, so that what
 * fails in one place fails in the next.
 */
import fc from '../../node_modules/fast-check/lib/fast-check.js';

fc.configureGlobal({ seed: Number(process.env.FAST_CHECK_SEED) });

export * from '../../node_modules/fast-check/lib/fast-check.js';
export default fc;
