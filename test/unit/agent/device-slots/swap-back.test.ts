/** A meter that is swapped and swapped back, with an output in its slot; entries that the platform refuses for good. */
import { expect, it } from 'vitest';
import { PartsBench } from '../../../support/device-slots-bench.ts';

it('a meter that is swapped back takes commands again', async () => {
  const bench = new PartsBench({
    devices: [{ name: 'meter', serialNumber: { sensor: 'm', key: 'serial' } }],
    sensors: [{ name: 'm', kind: 'host', device: 'meter' }],
    // What was read of the old meter is sent after the swap.
    upload: { interval: '10s' },
  });
  const commanded = new Set<string>();
  // As slotCommands: one that is in no slot has nothing to command.
  bench.beside = async (device, signal) => {
    if (bench.names.slotOf(device.id) === undefined) return;
    commanded.add(device.id);
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    commanded.delete(device.id);
  };
  await bench.start();
  const show = async (number: string, seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      bench.devices.observe('m', 'serial', number);
      bench.read('meter', `${number}@${second}`);
      await bench.clock.advance(1_000);
    }
  };
  await show('1111', 30);
  expect([...commanded]).toEqual(['roof 1111']);
  await show('2222', 30);
  expect([...commanded]).toEqual(['roof 2222']);
  await show('1111', 120);
  const last = [...commanded];
  await bench.close();
  expect(last).toEqual(['roof 1111']);
});

it('entries that are refused for good are counted and can be seen (docs/telemetry.md: counted, kept, `turnstone outbox rejected`)', async () => {
  const bench = await new PartsBench({ devices: [{ name: 'a' }, { name: 'b' }] }).start();
  await bench.seconds(10, ['a', 'b']);
  const known = bench.devices.find('b');
  if (known === undefined) throw new Error('not there');
  const { deviceApi } = known;
  const post = deviceApi.postTelemetry;
  // As the HTTP client refuses what the server would lose.
  deviceApi.postTelemetry = async (rows, signal) => {
    const row = rows.keys.indexOf('bad');
    return row === -1
      ? await post(rows, signal)
      : { kind: 'refused', status: 0, text: 'no', unsendable: [{ row, reason: 'no' }] };
  };
  bench.read('b', 'bad');
  await bench.seconds(120, ['a', 'b']);
  const told = JSON.stringify([bench.control.list(), bench.outbox.status(), bench.held.list()]);
  const rejectedFile = bench.files.paths.filter((path) => path.includes('/held/') && path.includes('reject'));
  await bench.close();
  expect({ isOnDisk: rejectedFile.length > 0, isTold: /"rejected":[1-9]/.test(told) }).toEqual({
    isOnDisk: true,
    isTold: true,
  });
});

it('a day without network, then all at once: all of it, and the new soon', async () => {
  const slots = Array.from({ length: 4 }, (_, at) => `m${at}`);
  const bench = await new PartsBench({ devices: slots.map((name) => ({ name })) }).start();
  await bench.seconds(20, slots);
  bench.platform.isAway = true;
  for (let minute = 0; minute < 1_440; minute += 10) {
    for (const slot of slots) bench.read(slot, `${slot}:${minute}`);
    await bench.clock.advance(600_000);
  }
  bench.platform.isAway = false;
  await bench.seconds(200, ['m0']);
  const counts = slots.map((slot) => new Set(bench.keysAt(`roof ${slot}`).filter((key) => key.includes(':'))).size);
  const wrong = bench.platform.arrived.filter(
    ({ device, key }) => key.includes(':') && `roof ${key.split(':')[0]}` !== device,
  );
  await bench.close();
  expect(wrong).toEqual([]);
  expect(counts).toEqual(slots.map(() => 144));
});
