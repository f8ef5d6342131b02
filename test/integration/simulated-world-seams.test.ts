/** A simulated world stands on its seed alone: it is the same each time, and nothing of the agent in it touches the machine that it runs on. */
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { live, warmUp } from '../simulation/live.ts';
import { planOf } from '../simulation/plan.ts';

const PLAN = planOf(11, { hours: 0.25, perHour: 24, deedsPerHour: 120 });
/** Returns every line of a world's story, and what it came to. */
async function told(): Promise<readonly string[]> {
  const lines: string[] = [];
  const verdict = await live(PLAN, (line) => void lines.push(line));
  return [...lines, JSON.stringify(verdict)];
}

beforeAll(warmUp, 30_000);

it('is the same world each time that it is lived', async () => {
  const first = await told();
  expect(first.length).toBeGreaterThan(50);
  expect(await told()).toEqual(first);
});

it('reads no clock, sets no timer and draws no chance but its own', async () => {
  const touched = new Set<string>();
  const own = /\/src\/(?!local-platform\/)/;
  const watch = (holder: object, name: string): void => {
    const call: unknown = Reflect.get(holder, name);
    if (typeof call !== 'function') throw new Error(`there is no ${name}`);
    const apply = (target: () => unknown, self: unknown, args: unknown[]): unknown => {
      // Calls by the test runner itself do not count.
      const by = new Error('called').stack?.split('\n').find((line) => own.test(line));
      if (by !== undefined) touched.add(`${name} ${by.trim()}`);
      return Reflect.apply(target, self, args);
    };
    Reflect.set(holder, name, new Proxy(call, { apply }));
    onTestFinished(() => void Reflect.set(holder, name, call));
  };
  watch(Math, 'random');
  watch(Date, 'now');
  watch(performance, 'now');
  watch(process.hrtime, 'bigint');
  watch(globalThis, 'setTimeout');
  watch(globalThis, 'setInterval');
  watch(AbortSignal, 'timeout');
  await told();
  expect([...touched]).toEqual([]);
});
