/** A restart while the platform is away: each device is as it is, by what is kept of it. */
import { expect, it } from 'vitest';
import { deviceVerdict } from '../../../../src/status/shape/device-status.ts';
import { PartsBench } from '../../../support/device-slots-bench.ts';

const AWAY = 'the platform has not said yet which board is this device: nothing is sent before';

it.each([1, 40])(
  'tells of %d devices with tokens that they wait for the platform, and logs no error',
  async (count) => {
    const names = Array.from({ length: count }, (_, n) => `m${n}`);
    const first = await new PartsBench({ devices: names.map((name) => ({ name })) }).start();
    await first.clock.advance(60_000);
    expect(first.control.list().map(({ state }) => state)).toEqual(names.map(() => 'ready'));
    await first.close();
    const again = new PartsBench({ devices: names.map((name) => ({ name })) }, first);
    again.platform.isAway = true;
    again.notConnected = AWAY;
    await again.start();
    const told = again.control.list().map((device) => deviceVerdict(device));
    expect(told).toEqual(names.map(() => ({ verdict: 'waiting', words: `its entries are kept: ${AWAY}` })));
    expect(again.logged.filter((line) => line.startsWith('error'))).toEqual([]);
    again.platform.isAway = false;
    again.notConnected = undefined;
    await again.clock.advance(1_000);
    again.read('m0', 'power');
    await again.clock.advance(30_000);
    expect(again.keysAt('roof m0')).toContain('power');
  },
);
