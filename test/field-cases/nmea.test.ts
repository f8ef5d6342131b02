/** NMEA 0183 as receivers and marine instruments send it, over a real pty through the agent's own serial port. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { linuxPorts } from '../../src/hardware/linux-ports.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { createSensor } from '../../src/sensors/create-sensor.ts';
import type { Sensor } from '../../src/sensors/kind/sensor.ts';
import { PtyWire } from '../../src/stand-ins/simulated-board/serial-wire.ts';
import type { JsonValue } from '../../src/values/json.ts';
import { until } from '../support/board-bench.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../support/sensor-bench.ts';

const { signal } = new AbortController();
const FIXTURE = join(import.meta.dirname, '../fixtures/sensors/nmea-pynmea2.json');
const ports = linuxPorts(systemClock, 'sysfs');
let folder: string;
let wire: PtyWire;
let sensor: Sensor;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-nmea-'));
  wire = new PtyWire(join(folder, 'port'), () => {});
});
afterEach(async () => {
  await sensor.close();
  wire.close();
  await rm(folder, { recursive: true });
});

async function openWith(options: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const config = sensorConfig({ name: 'bridge', kind: 'nmea', port: join(folder, 'port'), ...options });
  sensor = await createSensor(
    config,
    {
      ...OF_THIS_MACHINE,
      ports,
      clock: systemClock,
      files: systemFiles,
      log: silentLog,
      stateFolder: folder,
    },
    signal,
  );
}

const say = (...lines: readonly string[]): void => wire.send(Buffer.from(lines.map((line) => `${line}\r\n`).join('')));

type Values = Readonly<Record<string, JsonValue>>;

/** Reads until what was sent has arrived: until this key is there. */
async function valuesWith(key: string): Promise<Values> {
  let values: Values = {};
  await until(`a reading of ${key}`, async () => {
    const readings = await sensor.read(AbortSignal.abort()).catch(() => []);
    values = Object.fromEntries(readings.map((reading) => [reading.key, reading.value]));
    return key in values;
  });
  return values;
}

/** Reads until the reason for having no reading matches. */
async function toldFor(reason: RegExp): Promise<string> {
  let told = '';
  await until(`the reason ${reason}`, async () => {
    told = await sensor.read(AbortSignal.abort()).then(
      () => '',
      (error: Error) => error.message,
    );
    return reason.test(told);
  });
  return told;
}

it.each([
  ['$GPRMC,165550.00,A,5231.4321,N,1324.1234,E,3.6,1.4,181026,,,A*61', { latitude: 52.5238683, longitude: 13.4020567 }],
  ['$GPRMC,165550.00,A,931.4321,N,01324.1234,E,3.6,1.4,181026,,,A*6F', { latitude: 9.5238683, longitude: 13.4020567 }],
])('row 1: degrees that are not padded are read by their grammar: %s', async (line, place) => {
  await openWith();
  say(line);
  expect(await valuesWith('latitude')).toMatchObject(place);
});

it('row 2: a sentence begins at the last $, whatever stands before it', async () => {
  await openWith();
  const ubx = Buffer.from('b562010204006162636413', 'hex');
  const rmc = '$GPRMC,165550.00,A,5231.4321,N,01324.1234,E,3.6,1.4,181026,,,A*51\r\n';
  wire.send(Buffer.concat([ubx, Buffer.alloc(400, 0x55), Buffer.from(rmc)]));
  expect(await valuesWith('latitude')).toMatchObject({ latitude: 52.5238683 });
  wire.send(Buffer.from('$GPGSV,3,1,1$IIMTW,18.5,C*1F\r\n'));
  expect(await valuesWith('waterTemperature')).toMatchObject({ waterTemperature: 18.5 });
});

it('row 9: a receiver that sends GLL alone gives its position', async () => {
  await openWith();
  say('$GPGLL,5231.4321,N,01324.1234,E,165550.00,A,A*6A');
  expect(await valuesWith('latitude')).toEqual({ fix: 'fix', latitude: 52.5238683, longitude: 13.4020567 });
});

it('row 9: ZDA stamps the position of a receiver that has no RMC', async () => {
  await openWith();
  say('$GPGLL,5231.4321,N,01324.1234,E,165550.00,A,A*6A', '$GPZDA,165550.00,18,10,2026,00,00*6A', '$HEHDT,101.5,T*2A');
  await valuesWith('heading');
  const readings = await sensor.read(signal);
  expect(
    readings.filter(({ takenAtMs }) => takenAtMs === Date.UTC(2026, 9, 18, 16, 55, 50)).map(({ key }) => key),
  ).toEqual(['fix', 'latitude', 'longitude']);
});

it('row 23: a sentence whose check sum is wrong gives nothing', async () => {
  await openWith({ checksum: 'optional' });
  say('$IIMWV,030,R,90.5,N,A*14', '$IIMTW,18.5,C*1F');
  expect(await valuesWith('waterTemperature')).toEqual({ waterTemperature: 18.5 });
});

it('row 28: sentences without a check sum are read where it is optional, and named where it is not', async () => {
  await openWith();
  say('$GPGLL,5231.4321,N,01324.1234,E,165550.00,A,A');
  expect(await toldFor(/check sum/)).toContain('checksum: optional');
  await sensor.close();
  await openWith({ checksum: 'optional' });
  say('$GPGLL,5231.4321,N,01324.1234,E,165550.00,A,A');
  expect(await valuesWith('latitude')).toMatchObject({ latitude: 52.5238683 });
});

it('row 29: marine sentences agree with an independent parser', async () => {
  const { cases } = JSON.parse(await readFile(FIXTURE, 'utf8')) as {
    readonly cases: readonly (readonly [string, Values])[];
  };
  for (const [sentence, values] of cases) {
    await openWith({ transducers: ['TempAir', 'Barometer'] });
    say(sentence);
    const [key] = Object.keys(values);
    if (key === undefined) await toldFor(/marked as not valid/);
    else {
      const read = await valuesWith(key);
      expect(Object.keys(read).sort()).toEqual(Object.keys(values).sort());
      for (const [name, value] of Object.entries(values))
        if (typeof value === 'number') expect(read[name]).toBeCloseTo(value, 2);
        else expect(read[name]).toBe(value);
    }
    await sensor.close();
  }
  expect(cases).toHaveLength(96);
});

it('row 29: apparent and true wind of one instrument stand beside each other, with their units', async () => {
  await openWith();
  say('$WIMWV,030.0,R,10.0,N,A*11', '$WIMWV,045.0,T,36.0,K,A*14');
  await valuesWith('windSpeedTrue');
  expect(await sensor.read(signal)).toEqual([
    { key: 'windAngle', value: 30, unit: '°' },
    { key: 'windSpeed', value: 5.144, unit: 'm/s' },
    { key: 'windAngleTrue', value: 45, unit: '°' },
    { key: 'windSpeedTrue', value: 10, unit: 'm/s' },
  ]);
});

it('row 29: of a port with other sentences it is told which come, and of noise that the baud rate may be wrong', async () => {
  await openWith();
  say('\x81\xfe\x03', 'no sentence');
  expect(await toldFor(/./)).toContain('baud rate?');
  say(
    '$GPGSA,A,1,,,,,,,,,,,,,99.99,99.99,99.99*30',
    '!AIVDM,1,1,,B,177KQJ5000G?tO`K>RA1wUbN0TKH,0*5C',
    '$IIXDR,C,19.5,C,TempAir*2B',
  );
  expect(await toldFor(/TempAir/)).toBe(
    'valid NMEA sentences come, but none that is read: GPGSA, AIVDM, XDR transducer TempAir',
  );
});
