/** M-Bus meters on a pty whose answer is missing in part, damaged, or another meter's. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bytes, openPeerBench, type PeerBench } from '../../../test/support/modbus-peer.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import type { Sensor } from '../kind/sensor.ts';
import { open as openMbus } from './driver.ts';
import { longFrame, shortFrame } from './frames.ts';

const { signal } = new AbortController();
let bench: PeerBench;
beforeEach(async () => {
  bench = await openPeerBench();
});
afterEach(() => bench.close());

const hex = (frame: Uint8Array) => Buffer.from(frame).toString('hex');
const telegram = (records: string) => longFrame(bytes(`080172420000007452010400000000${records}`));
const ACKNOWLEDGED = Uint8Array.of(0xe5);
const [RESET, FIRST, SECOND] = [0x40, 0x7b, 0x5b].map((control) => hex(shortFrame(control, 1)));
const WITH_MORE = telegram('0406010000001f');

type Answer = (request: string) => Uint8Array | undefined;

async function meterWith(answerTo: Answer, options: Readonly<Record<string, unknown>> = {}): Promise<Sensor> {
  const port = await bench.pty((asked, send) => {
    const answer = answerTo(hex(asked));
    if (answer !== undefined) send(answer);
  });
  const config = sensorConfig({ name: 'heat', kind: 'mbus', port, address: 1, responseTimeout: '200ms', ...options });
  return await openMbus(config, sensorDeps(bench), signal);
}
const read = async (sensor: Sensor) =>
  Object.fromEntries((await sensor.read(signal)).map(({ key, value }) => [key, value]));
const missingOf = (sensor: Sensor) => sensor.refused?.().map(({ key, fault }) => [key, fault.message]);
const answersOf = (second: Uint8Array | undefined): Answer => {
  return (request) =>
    request === RESET ? ACKNOWLEDGED : request === FIRST ? WITH_MORE : request === SECOND ? second : undefined;
};

it.each([
  ['says that it has more and does not give it', undefined, /gave 1 telegrams, and not the next one that it announced/],
  ['gives a damaged telegram', telegram('0413'), /ends within a record \(record 1\)$/],
])('a meter that %s gives what came before, and what is missing is named', async (_what, second, words) => {
  const sensor = await meterWith(answersOf(second));
  expect(await read(sensor)).toMatchObject({ heatEnergy: 1 });
  expect(missingOf(sensor)).toEqual([['telegrams', expect.stringMatching(words)]]);
  await sensor.close();
});

it('a damaged record costs itself and those after it', async () => {
  const sensor = await meterWith(() => telegram('040601000000 0dfa'));
  expect(await read(sensor)).toMatchObject({ heatEnergy: 1 });
  expect(missingOf(sensor)).toEqual([['telegrams', expect.stringMatching(/\(record 2\)$/)]]);
  await sensor.close();
});

it('what came before the deadline is given, and what is missing is named', async () => {
  const deadline = new AbortController();
  const sensor = await meterWith(
    (request) => {
      if (request === SECOND) deadline.abort();
      return answersOf(undefined)(request);
    },
    { responseTimeout: '1m' },
  );
  expect((await sensor.read(deadline.signal)).map(({ key }) => key)).toContain('heatEnergy');
  expect(missingOf(sensor)).toEqual([
    ['telegrams', expect.stringMatching(/deadline was over after 1 telegrams .* a longer deadline/)],
  ]);
  await sensor.close();
});

it('keys that were there before are named one by one, until they are there again', async () => {
  let second: Uint8Array | undefined = telegram('041302000000');
  const sensor = await meterWith((request) => answersOf(second)(request));
  expect(await read(sensor)).toMatchObject({ heatEnergy: 1, volume: 0.002 });
  expect(missingOf(sensor)).toEqual([]);
  second = undefined;
  expect(await read(sensor)).toEqual({ heatEnergy: 1 });
  expect(missingOf(sensor)).toEqual([['volume', expect.stringMatching(/gave 1 telegrams/)]]);
  second = telegram('041302000000');
  expect(await read(sensor)).toEqual({ heatEnergy: 1, volume: 0.002 });
  expect(missingOf(sensor)).toEqual([]);
  await sensor.close();
});

it.each([
  ['12345678', 'sensors/wrong-meter'],
  ['0000004F', undefined],
  ['0000005F', 'sensors/wrong-meter'],
])('the meter 00000042 that answers to %s is read only where its number fits', async (address, code) => {
  const sensor = await meterWith(
    (request) => (request.startsWith('10') && !request.startsWith('1040') ? telegram('040601000000') : ACKNOWLEDGED),
    {
      address,
    },
  );
  const outcome = await read(sensor).catch((fault: unknown) => fault);
  expect(outcome).toMatchObject(
    code === undefined ? { heatEnergy: 1 } : { code, message: expect.stringContaining('the meter 00000042 on ') },
  );
  await sensor.close();
});
