/** A line that speaks and is not understood says which it is; a manual's number of a register is told with the address that is meant. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/read-config.ts';
import { retryable } from '../../src/errors/agent-error.ts';
import { linuxPorts } from '../../src/hardware/linux-ports.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { createSensor } from '../../src/sensors/create-sensor.ts';
import type { Sensor } from '../../src/sensors/kind/sensor.ts';
import { Refusals } from '../../src/sensors/refusals.ts';
import { PtyWire } from '../../src/stand-ins/simulated-board/serial-wire.ts';
import { until } from '../support/board-bench.ts';
import { SMALLEST } from '../support/config-file.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { bytes, openPeerBench, type PeerBench } from '../support/modbus-peer.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../support/sensor-bench.ts';

const { signal } = new AbortController();
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-causes-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('a serial line that speaks', () => {
  const ports = linuxPorts(systemClock, 'sysfs');
  let wire: PtyWire;
  let sensor: Sensor | undefined;

  beforeEach(() => {
    wire = new PtyWire(join(folder, 'port'), () => {});
  });
  afterEach(async () => {
    await sensor?.close();
    wire.close();
  });

  const PATTERN = '^1-0:1\\.8\\.1\\((?<energyImportT1>[0-9.]+)';
  const P1 = { format: 'regex', frame: { start: '2F', end: '21', tail: 4 }, check: 'p1', pattern: PATTERN };
  const FILE = join(import.meta.dirname, '../fixtures/meters/p1/encrypted.jsonl');
  const ENCRYPTED = /"hex": "([0-9a-f]+)"/.exec(readFileSync(FILE, 'utf8'))?.[1] ?? '';
  const KAMSTRUP = '/KAM5\r\n\r\n0-0:96.1.1(4B41)\r\n1-1:1.8.0(000671.578*kWh)\r\n0-0:17.0.0(999.9*kW)\r\n!0000\r\n';

  it.each([
    ['nothing', { format: 'number' }, '', /^nothing comes on .*port$/],
    [
      'a meter at another speed',
      P1,
      Buffer.from('f0e0c0f8fefce0f0f8c0e0fef0fcf8e0c0fef0'.repeat(2), 'hex'),
      /^38 bytes came on .* without the end of one of its frames; the first: f0 e0 c0 f8 .* "\.+": check baudRate and parity/,
    ],
    [
      'a customer port that is encrypted',
      P1,
      Buffer.from('db084b414d4500000001820123300000000174', 'hex'),
      /^an encrypted telegram comes on .* ask the grid operator for its key, and give it as encryptionKey beside preset: dsmr$/,
    ],
    [
      'a customer port that is encrypted with another key',
      { ...P1, encryptionKey: 'BB'.repeat(16) },
      Buffer.from(ENCRYPTED, 'hex'),
      /^1 frame came on .* encrypted, and none could be deciphered: the key is not that of the meter/,
    ],
    [
      'a customer port that is not encrypted, beside a key',
      { ...P1, encryptionKey: 'AA'.repeat(16) },
      `${KAMSTRUP}${KAMSTRUP}`,
      /^\d frames? came on .* none could be read: it is not encrypted \(leave encryptionKey out\)/,
    ],
    [
      'a scale without line ends',
      { format: 'number' },
      '  12.50kg  12.50kg  12.50kg',
      /^27 bytes came on .*" {2}12\.50kg {2}12\.50": check baudRate/,
    ],
    [
      'telegrams with a wrong check sum',
      P1,
      `${KAMSTRUP}${KAMSTRUP}`,
      /^2 frames came on .* with a wrong check sum: check parity and wiring/,
    ],
    [
      'a whole telegram of another country',
      { format: 'regex', frame: { start: '2F', end: '21' }, pattern: PATTERN },
      KAMSTRUP,
      /^1 frame came on .*, whole, and none has a value that is asked for: they have 0-0:96\.1\.1, 1-1:1\.8\.0, 0-0:17\.0\.0$/,
    ],
    [
      'a meter in Wh, which a variant of its preset reads',
      {
        preset: 'dsmr',
        format: 'regex',
        frame: { start: '2F', end: '21' },
        pattern: PATTERN.replace('[0-9.]+)', '[0-9.]+)[*]kWh'),
      },
      KAMSTRUP.replace('000671.578*kWh', '000671578*Wh'),
      /they have 0-0:96\.1\.1, 1-1:1\.8\.0, 0-0:17\.0\.0: preset: dsmr with variant: watt-hours reads them$/,
    ],
    [
      'lines of another pattern',
      { format: 'regex', pattern: '^T=(?<temperature>[0-9.]+)$' },
      '\nHUM=40.1 CO2=512\nHUM=40.2 CO2=513\n',
      /^2 lines came on .* they have HUM, CO2$/,
    ],
    [
      'words',
      { format: 'number' },
      '\nREADY\nSTABLE\n',
      /^2 lines came on .* none could be read: .*"STABLE": check format/,
    ],
  ] as const)('tells of %s', async (_what, options, sent, sentence) => {
    const config = sensorConfig({
      name: 'meter',
      kind: 'serial-line',
      port: join(folder, 'port'),
      period: '100ms',
      deadline: '200ms',
      ...(options as object),
    });
    sensor = await createSensor(
      config,
      { ...OF_THIS_MACHINE, ports, clock: systemClock, files: systemFiles, log: silentLog, stateFolder: folder },
      signal,
    );
    if (sent !== '') wire.send(Buffer.from(sent as string));
    const opened = sensor;
    let told = '';
    await until('the sentence', async () => {
      told = await opened.read(signal).then(
        () => '',
        ({ message }: Error) => message,
      );
      return sentence.test(told);
    }).catch(() => {});
    expect(told).toMatch(sentence);
  });
});

describe('a register by the number of a manual', () => {
  const CONNECTION = 'connection: { transport: tcp, host: h }';
  const warningsOf = async (register: string): Promise<readonly unknown[]> => {
    const file = join(folder, 'turnstone.yaml');
    const sensor = `{ name: meter, kind: modbus, ${CONNECTION}, registers: { power: ${register} } }`;
    await writeFile(file, `${SMALLEST}sensors: [${sensor}]\n`, { mode: 0o600 });
    return (await readConfig(file, { environment: {} })).warnings;
  };

  it.each([
    ['{ address: 40013 }', 12],
    ['{ table: input, address: 30001 }', 0],
    ['{ table: discrete, address: 10005 }', 4],
  ] as const)('%s is warned of, with the address that is meant', async (register, meant) => {
    expect(await warningsOf(register)).toContainEqual(
      expect.objectContaining({
        path: 'sensors[0].registers.power.address',
        expected: `the address on the wire, ${meant}`,
      }),
    );
  });

  it.each(['{ address: 40083 }', '{ address: 40000 }', '{ table: input, address: 30775 }', '{ address: 37113 }'])(
    '%s, where inverters have their registers, is not',
    async (register) => {
      expect(await warningsOf(register)).toEqual([]);
    },
  );

  describe('at the unit', () => {
    let bench: PeerBench;
    beforeEach(async () => {
      bench = await openPeerBench();
    });
    afterEach(() => bench.close());

    it('is told with the refusal of a unit that has no such address', async () => {
      const port = await bench.tcp((asked, send) => send(bytes(`${asked.toString('hex', 0, 2)} 00 00 00 03 01 83 02`)));
      const sensor = await createSensor(
        sensorConfig({
          name: 'meter',
          kind: 'modbus',
          connection: { transport: 'tcp', host: '127.0.0.1', port },
          registers: { power: { address: 40_083 } },
        }),
        {
          ...OF_THIS_MACHINE,
          ports: bench.ports,
          clock: systemClock,
          files: systemFiles,
          log: silentLog,
          stateFolder: folder,
        },
        signal,
      );
      await expect(sensor.read(signal)).rejects.toThrow(
        "illegal data address: a manual's 40083 is address 82 on the wire",
      );
      await sensor.close();
    });
  });
});

describe('spikes that maxStep refuses', () => {
  const spike = (value: number) => ({
    key: 'level',
    fault: retryable('sensors/spike', `level ${value} is more than 5 away from 20`),
  });

  it('are told once, and then counted for an hour', async () => {
    const clock = new FakeClock();
    const lines: unknown[] = [];
    const log = {
      ...silentLog,
      warn: (fields: object) => lines.push(fields),
      info: (fields: object) => lines.push(fields),
    };
    const refusals = new Refusals('tank', { clock, log: log as never });
    expect(refusals.recordRefusals([spike(90)])).toBe(true);
    for (let n = 0; n < 60; n += 1) {
      await clock.advance(30_000);
      expect(refusals.recordRefusals(n % 2 === 0 ? [] : [spike(n)])).toBe(false);
    }
    expect(lines).toEqual([{ sensor: 'tank', key: 'level', spikes: 1, last: expect.stringContaining('90') }]);
    await clock.advance(3_600_000);
    refusals.recordRefusals([spike(91)]);
    expect(lines[1]).toMatchObject({ spikes: 31, last: expect.stringContaining('91') });
  });

  it('are in the state while the newest read has one', () => {
    const refusals = new Refusals('tank', { clock: new FakeClock(), log: silentLog });
    refusals.recordRefusals([spike(90)]);
    expect(refusals.list()).toMatchObject([{ key: 'level', code: 'sensors/spike' }]);
  });
});
