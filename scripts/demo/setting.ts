/** Setting of the demo: a board with a room around it, and an agent's configuration that reads all of it and this machine. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BoardConfigInput } from '../../src/stand-ins/simulated-board/board-config.ts';
import { DEMO_DEVICES, deviceLines, devicePorts } from './attached-devices.ts';

export const ACCESS_TOKEN = 'demo-gateway-token';
export const DEVICE_NAME = 'demo-gateway';
/** In the demo's own folder: two demos at once have a port each, and none needs to write in /dev. */
const SERIAL_PORT = 'ttyWEATHER';
const METER_PORT = 'ttyMETER';

const still = (value: number) => ({ kind: 'constant', value }) as const;
const zeros = (first: number, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [first + at, still(0)]));
/** Holding registers of an ABB B21, which tells its type at 0x8960: mains voltage, a load of half a kilowatt, and its counters. */
const METER = {
  ...zeros(0x5000, 8),
  20483: still(57_920),
  ...zeros(0x5b00, 2),
  23297: { kind: 'room', base: 2_310, drift: 8, noise: 2 } as const,
  ...zeros(0x5b0c, 2),
  23309: still(225),
  ...zeros(0x5b14, 2),
  23317: { kind: 'room', base: 52_000, drift: 4_000, noise: 300, min: 0 } as const,
  23340: still(5_000),
  23354: still(980),
  35168: still(0x4232),
  35169: still(0x3120),
};

/** Named as the platform's keys, so that the board's record and the platform speak of the same things. */
const boardIn = (folder: string): BoardConfigInput => ({
  seed: 7,
  gpio: [
    {
      chip: 'gpiochip0',
      label: 'simulated',
      names: { 4: 'DOOR', 17: 'RELAY' },
      inputs: [{ offset: 4, key: 'doorOpen', signal: { kind: 'door', perHour: 240, openMs: 4_000 } }],
    },
  ],
  i2c: [
    {
      bus: 1,
      chips: [
        {
          kind: 'bme280',
          address: 0x76,
          signals: {
            temperature: { kind: 'room', base: 21.5, day: 2.5, drift: 0.4, noise: 0.02 },
            humidity: { kind: 'room', base: 45, day: -6, drift: 2, noise: 0.1, min: 5, max: 95 },
            pressure: { kind: 'room', base: 1013.2, day: 0.5, drift: 1.5, noise: 0.02 },
          },
          keys: { temperature: 'roomTemperature', humidity: 'roomHumidity', pressure: 'roomPressure' },
        },
        {
          // Not configured: the page finds it.
          kind: 'sht3x',
          address: 0x44,
          signals: {
            temperature: { kind: 'room', base: 8.5, day: 3, drift: 0.4, noise: 0.02 },
            humidity: { kind: 'room', base: 71, day: -6, drift: 2, noise: 0.1, min: 5, max: 95 },
          },
          keys: { temperature: 'cellarTemperature', humidity: 'cellarHumidity' },
        },
      ],
    },
  ],
  serial: [
    {
      port: join(folder, SERIAL_PORT),
      pty: true,
      talk: {
        kind: 'lines',
        format: 'json',
        periodMs: 500,
        values: {
          windSpeed: { signal: { kind: 'room', base: 4.2, drift: 2, noise: 0.6, min: 0 }, digits: 1 },
          rainTotal: { signal: { kind: 'room', base: 112, drift: 0, noise: 0 }, digits: 1 },
        },
      },
    },
    // Not configured, too.
    {
      port: join(folder, METER_PORT),
      pty: true,
      talk: { kind: 'modbus', units: { 1: { holding: METER } } },
    },
    ...devicePorts(folder, DEMO_DEVICES),
  ],
});

export interface SettingPaths {
  readonly boardConfig: string;
  readonly boardSocket: string;
  readonly boardRecord: string;
  readonly appendRecord: string;
  readonly agentConfig: string;
  readonly runFolder: string;
  readonly platformData: string;
}

export interface SettingAddresses {
  readonly platformUrl: string;
  readonly pagePort: number;
}

/** Writes the demo's files into a folder. */
export async function writeSetting(folder: string, addresses: SettingAddresses): Promise<SettingPaths> {
  const paths = await writeBoard(folder);
  await writeAgent(folder, addresses, paths);
  return paths;
}

/** Writes the board's configuration, and returns where all other files lie. */
export async function writeBoard(folder: string): Promise<SettingPaths> {
  const paths: SettingPaths = {
    boardConfig: join(folder, 'board.json'),
    boardSocket: join(folder, 'board.sock'),
    boardRecord: join(folder, 'board-record.jsonl'),
    appendRecord: join(folder, 'append-record.jsonl'),
    agentConfig: join(folder, 'turnstone.yaml'),
    runFolder: join(folder, 'run'),
    platformData: join(folder, 'platform'),
  };
  await writeFile(paths.boardConfig, JSON.stringify(boardIn(folder)));
  return paths;
}

export async function writeAgent(folder: string, addresses: SettingAddresses, paths: SettingPaths): Promise<void> {
  await writeFile(paths.agentConfig, agentConfig(folder, addresses, paths), { mode: 0o600 });
}

function agentConfig(
  folder: string,
  { platformUrl, pagePort }: SettingAddresses,
  { boardSocket, runFolder }: SettingPaths,
): string {
  const own = deviceLines(folder, DEMO_DEVICES);
  return `version: 1
platform: { url: "${platformUrl}", accessToken: ${ACCESS_TOKEN} }
stateFolder: ${join(folder, 'state')}
runFolder: ${runFolder}
time: { trust: always }
hardware: { board: simulated, boardSocket: ${boardSocket} }
outbox: { commitAge: 1s }
status: { page: loopback, port: ${pagePort} }
${own.devices}sensors:
  - { name: machine, kind: host, period: 2s }
  - name: room
    kind: bme280
    bus: 1
    address: 0x76
    period: 1s
    keys:
      temperature: { rename: roomTemperature }
      humidity: { rename: roomHumidity }
      pressure: { rename: roomPressure }
  - name: door
    kind: gpio-input
    line: DOOR
    period: 5s
    keys: { state: { rename: doorOpen } }
  - { name: weather, kind: serial-line, port: ${join(folder, SERIAL_PORT)}, format: json, period: 10s }
${own.sensors}actuators:
  - { name: relay, kind: gpio-output, line: RELAY, safe: { start: off, stop: off } }
`;
}
