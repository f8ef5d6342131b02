/** Drivers that are asked at odd times; sampler.test.ts has the rest. */
import { expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import type { Reading } from '../../../src/sensors/kind/sensor.ts';
import { SensorDriver } from '../../../src/sensors/sensor-driver.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;

it('leaves no read that began while the driver before was closed: it is never asked twice at once', async () => {
  const clock = new FakeClock();
  const ends: ((readings: readonly Reading[]) => void)[] = [];
  const read = () => new Promise<readonly Reading[]>((resolve) => ends.push(resolve));
  const open = async () => ({ name: 'tank', read, close: () => clock.sleep(1_000, never) });
  const driver = new SensorDriver({
    name: 'tank',
    clock,
    log: silentLog,
    open,
    onReadings: () => {},
    onTrouble: () => {},
    closing: never,
  });
  const ask = () => driver.read({ signal: never, letGo: never, turn: never });
  const first = ask();
  await clock.advance(10);
  const anew = driver.openAnew();
  ends[0]?.([]);
  await first;
  const second = ask(); // on demand
  await clock.advance(1_000);
  await anew;
  const third = ask();
  await clock.advance(10);
  expect(ends).toHaveLength(2);
  ends[1]?.([]);
  await second;
  await clock.advance(10);
  ends[2]?.([]);
  expect(await third).toEqual([]);
});

it('lets what is merely slow come to its end', async () => {
  const clock = new FakeClock();
  let opened = 0;
  const open = async () => {
    opened += 1;
    await clock.sleep(1_500, never);
    return { name: 'tank', read: async () => [{ key: 'level', value: 1 }], close: async () => {} };
  };
  const driver = new SensorDriver({
    name: 'tank',
    clock,
    log: silentLog,
    open,
    onReadings: () => {},
    onTrouble: () => {},
    closing: never,
  });
  const ask = () => driver.read({ signal: never, letGo: never, turn: never });
  const slow = ask();
  void driver.openAnew();
  await clock.advance(1_600);
  expect([await slow, await ask()]).toEqual([[{ key: 'level', value: 1 }], [{ key: 'level', value: 1 }]]);
  expect(opened).toBe(1);
});
