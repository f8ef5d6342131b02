/** vitest loads this before each test file. */
import { afterAll, beforeAll, expect } from 'vitest';
import { followChildren, takeReached, writeReach } from './in-each-process.ts';

const test = expect.getState().testPath ?? '';
let whileLoading: number[] = [];
followChildren(test);
beforeAll(() => {
  whileLoading = takeReached();
});
afterAll(() => writeReach({ test, whileLoading, inTests: takeReached() }));
