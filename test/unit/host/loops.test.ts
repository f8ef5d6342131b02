import { expect, it } from 'vitest';
import { runTogether } from '../../../src/host/loops.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('ends all loops when one fails, waits for them, and tells why', async () => {
  const fail = Promise.withResolvers<void>();
  const cleaned = Promise.withResolvers<void>();
  const steps: string[] = [];
  const other = async (signal: AbortSignal): Promise<void> => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    steps.push('told to end');
    await cleaned.promise;
    steps.push('has ended');
  };
  const running = runTogether([() => fail.promise, other], new AbortController().signal).catch(
    (error: Error) => void steps.push(error.message),
  );
  fail.reject(new Error('no'));
  await turn();
  expect(steps).toEqual(['told to end']);
  cleaned.resolve();
  await running;
  expect(steps).toEqual(['told to end', 'has ended', 'no']);
});

it('ends with its signal, and when all have ended', async () => {
  const stop = new AbortController();
  const loop = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  const running = runTogether([loop, async () => {}], stop.signal);
  stop.abort();
  await running;
  await runTogether([async () => {}], new AbortController().signal);
});
