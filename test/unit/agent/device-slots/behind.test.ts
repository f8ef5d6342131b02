/** Entries of one device that wait apart: told as late once they wait longer than is usual. */
import { expect, it } from 'vitest';
import type { CheckContext } from '../../../../src/doctor/checks/checkup.ts';
import { otherDevices } from '../../../../src/doctor/checks/devices-check.ts';
import type { UploadAnswer } from '../../../../src/platform/device-api.ts';
import { devicesSummary } from '../../../../src/status/shape/device-status.ts';
import { PartsBench } from '../../../support/device-slots-bench.ts';

it.each<[string, UploadAnswer]>([
  ['refuses', { kind: 'refused', status: 400, text: 'no' }],
  ['is broken', { kind: 'busy', status: 500, text: 'out of order' }],
])('is late while the platform %s for one device, and not before', async (_, answer) => {
  const bench = await new PartsBench({ devices: [{ name: 'm1' }, { name: 'm2' }], upload: { interval: '1s' } }).start();
  await bench.seconds(10, ['m1', 'm2']);
  bench.platform.uploadAnswer = (device) => (device === 'roof m2' ? answer : undefined);
  await bench.seconds(10, ['m1', 'm2']);
  const before = bench.state('m2')?.isBehind;
  await bench.seconds(60, ['m1', 'm2']);
  const [m1, m2] = ['m1', 'm2'].map((id) => bench.state(id)?.isBehind);
  const agent = { devices: devicesSummary(bench.control.list()), nowMs: bench.clock.monotonicMs() };
  const seen = await otherDevices.look({ agent } as CheckContext, new AbortController().signal);
  const { apartEntries } = bench.counts();
  await bench.close();
  expect(apartEntries).toBeGreaterThan(0);
  expect([before, m1, m2]).toEqual([undefined, undefined, true]);
  expect(seen).toMatchObject({ verdict: 'warning' });
});

it('is no delay of the gateway while the device is blocked, which is told by itself', async () => {
  const bench = await new PartsBench({ devices: [{ name: 'm1' }, { name: 'm2' }], upload: { interval: '1s' } }).start();
  await bench.seconds(10, ['m1', 'm2']);
  bench.platform.uploadAnswer = (device) =>
    device === 'roof m2' ? { kind: 'unauthorised', status: 401, text: 'no such device' } : undefined;
  await bench.seconds(60, ['m1', 'm2']);
  const [state, held] = [bench.state('m2')?.state, bench.state('m2')?.heldEntries ?? 0];
  const { apartEntries, oldestMs = Number.POSITIVE_INFINITY } = bench.counts();
  const age = bench.clock.wallMs() - oldestMs;
  await bench.close();
  expect([state, held > 20, apartEntries]).toEqual(['blocked', true, 0]);
  expect(age).toBeLessThan(15_000);
});
