import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench } from '../../../test/support/board-bench.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../../test/support/memory-files.ts';
import { forRandomBytes } from '../../../test/support/random-bytes.ts';
import { OF_THIS_MACHINE, sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { silentLog } from '../../host/log.ts';
import type { Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { NmeaSentences, open as openNmea } from './driver.ts';

const { signal } = new AbortController();
const READS = sensorConfig({ name: 'gps', kind: 'nmea', port: '/dev/ttyS0' });

function fixWith(...lines: readonly string[]): { readonly fix: NmeaSentences; readonly clock: FakeClock } {
  const clock = new FakeClock();
  const fix = new NmeaSentences(READS, clock);
  for (const line of lines) fix.readSentence(line);
  return { fix, clock };
}
const valuesOf = (fix: NmeaSentences): unknown =>
  Object.fromEntries(fix.readings().map(({ key, value }) => [key, value]));

describe('NmeaSentences', () => {
  // NMEA 0183 itself is not public. These two sentences are the ones that its public descriptions explain field by field (gpsd's "NMEA Revealed",
  // "Example"): 48° 07.038' N, 11° 31.000' E, 545.4 m, 8 satellites; 22.4 knots, course 84.4°, 23 March 1994.
  it('agrees with the explained sentences', () => {
    const { fix } = fixWith(
      '$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r',
      '$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A\r',
    );
    const values = valuesOf(fix) as Readonly<Record<string, number>>;
    expect(values).toMatchObject({ fix: 'fix', altitude: 545.4, satellites: 8, course: 84.4 });
    expect(values.latitude).toBeCloseTo(48 + 7.038 / 60, 7);
    expect(values.longitude).toBeCloseTo(11 + 31 / 60, 7);
    expect(values.speed).toBeCloseTo(22.4 * 1.852, 3);
    expect(fix.readings()[0]?.takenAtMs).toBeUndefined(); // 1994: a receiver whose clock is not set
  });

  it('stamps readings with the time of the receiver', () => {
    const sentence = 'GPRMC,101530.00,A,4807.038,N,01131.000,E,0.0,84.4,211126,,';
    const sum = [...sentence]
      .reduce((xor, character) => xor ^ character.charCodeAt(0), 0)
      .toString(16)
      .padStart(2, '0');
    const { fix } = fixWith(`$${sentence}*${sum}`);
    expect(fix.readings().map(({ takenAtMs }) => takenAtMs)).toEqual(
      fix.readings().map(() => Date.UTC(2026, 10, 21, 10, 15, 30)),
    );
  });

  it('agrees with an independent parser on time, date and place, and stamps nothing without a date', async () => {
    const { cases } = JSON.parse(
      await readFile(join(import.meta.dirname, '../../../test/fixtures/sensors/rmc-pynmea2.json'), 'utf8'),
    ) as {
      readonly cases: readonly (readonly [string, number | null, number, number])[];
    };
    for (const [sentence, utcMs, latitude, longitude] of cases) {
      const readings = fixWith(sentence).fix.readings();
      expect(readings[0]?.takenAtMs ?? null).toBe(utcMs);
      const values = Object.fromEntries(readings.map(({ key, value }) => [key, Number(value)]));
      expect(values.latitude).toBeCloseTo(latitude, 6);
      expect(values.longitude).toBeCloseTo(longitude, 6);
    }
    expect(cases).toHaveLength(60);
  });

  it('reports no position without a fix', () => {
    expect(valuesOf(fixWith('$GPRMC,,V,,,,,,,,,,N*53', '$GPGGA,,,,,,0,,,,,,,,*66').fix)).toEqual({ fix: 'none' });
  });

  it('takes no sentence with a wrong check sum or without one, and says when none comes', async () => {
    const wrong = fixWith(
      '$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*48',
      '$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,',
    );
    expect(() => wrong.fix.readings()).toThrow(/no valid NMEA sentence/);
    const { fix, clock } = fixWith('$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47');
    expect(fix.readings()).toHaveLength(5);
    await clock.advance(11_000);
    expect(() => fix.readings()).toThrow(/no valid NMEA sentence/);
  });

  it('survives any line, also those whose check sum is right', () => {
    const clock = new FakeClock();
    const fix = new NmeaSentences(READS, clock);
    const kinds = ['GPRMC', 'GPGGA', 'GPVTG', 'GPGSA', 'GPGSV', 'GNZDA', 'GPTXT', 'XXYYY'];
    forRandomBytes(100_000, 20, (bytes, random) => {
      const fields = bytes
        .toString('latin1')
        .replace(/[^ -~]/g, () => ',.0123456789NSEWAV'[Math.floor(random() * 18)] ?? ',');
      const body = `${kinds[Math.floor(random() * kinds.length)]},${fields.replaceAll('*', '')}`;
      const sum = [...body]
        .reduce((xor, character) => xor ^ character.charCodeAt(0), 0)
        .toString(16)
        .padStart(2, '0');
      fix.readSentence(random() < 0.8 ? `$${body}*${sum}` : bytes.toString('latin1'));
      for (const { key, value } of fix.readings()) {
        if (key === 'latitude') expect(Math.abs(Number(value))).toBeLessThanOrEqual(90);
        if (key === 'longitude') expect(Math.abs(Number(value))).toBeLessThanOrEqual(180);
        if (key === 'speed') expect(Number(value)).toBeLessThanOrEqual(2_000);
      }
    });
  });
});

describe('a receiver on the board', () => {
  let bench: BoardBench;
  afterEach(() => bench.close());

  const constant = (value: number) => ({ kind: 'constant' as const, value });
  const place = { latitude: constant(-33.8568), longitude: constant(151.2153), speedKnots: constant(3.4) };
  const openSpeaking = async (periodMs: number): Promise<Sensor> => {
    bench = await openBoardBench((folder) => ({
      serial: [{ port: join(folder, 'gps'), talk: { kind: 'nmea', periodMs, ...place } }],
    }));
    return await openNmea(
      sensorConfig({ name: 'gps', kind: 'nmea', port: join(bench.folder, 'gps') }),
      sensorDeps(bench),
      signal,
    );
  };

  it('is waited for when it has not spoken yet, until the deadline', async () => {
    const sensor = await openSpeaking(300);
    await expect(sensor.read(AbortSignal.timeout(20))).rejects.toMatchObject({ code: 'sensors/silent' });
    expect(await sensor.read(signal)).toHaveLength(7);
    await sensor.close();
  });

  it('is read as the positions the board showed', async () => {
    const sensor = await openSpeaking(50);
    const readings = await sensor.read(signal);
    const shown = Object.fromEntries(
      (await bench.record()).filter(({ kind }) => kind === 'shown').map(({ key, value }) => [key, value]),
    );
    for (const key of ['latitude', 'longitude', 'speed'])
      expect(readings.find((reading) => reading.key === key)?.value).toBe(shown[key]);
    expect(Math.abs((readings[0]?.takenAtMs ?? 0) - Date.now())).toBeLessThan(3_000);
    await sensor.close();
  });
});

it('a receiver that never sends the one of its two sentences holds up its first read alone', async () => {
  const clock = new FakeClock();
  let say: (bytes: Uint8Array) => void = () => {};
  const port = {
    path: '/dev/ttyS0',
    plugged: true,
    onBytes: (listener: typeof say) => (say = listener),
    onPlug: () => {},
  };
  // No sensor of this kind asks for others.
  const ports = { serial: { open: async () => port } } as unknown as SensorDeps['ports'];
  const config = sensorConfig({ name: 'gps', kind: 'nmea', port: port.path });
  const sensor = await openNmea(
    config,
    { ...OF_THIS_MACHINE, ports, clock, files: new MemoryFiles(), log: silentLog, stateFolder: '/' },
    signal,
  );
  const deadline = new AbortController();
  const first = sensor.read(deadline.signal);
  say(Buffer.from('rest\n$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\r\n'));
  deadline.abort();
  expect(await first).toHaveLength(5);
  expect(await sensor.read(signal)).toHaveLength(5);
});
