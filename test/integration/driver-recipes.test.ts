/**
 * Recipes of docs/drivers.md with the real programs over recorded input: from what a program prints to the platform's store, with the program killed
 * once. What this machine has not installed is skipped. Programs of PyPI are played from their stored output (test/fixtures/drivers), and are the real
 * ones where TURNSTONE_PYPI names an environment that has them (test/second-readers/second-readers.sh).
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MARK } from '../../src/host/program-family.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { until } from '../support/board-bench.ts';

const WAIT_MS = 30_000;
const FIXTURES = join(import.meta.dirname, '../fixtures/drivers');
const PYPI = process.env.TURNSTONE_PYPI;
const PYTHON = `${PYPI}/bin/python`;
const REPLAY = [
  join(import.meta.dirname, '../second-readers/replay_bluetooth.py'),
  join(FIXTURES, 'advertisements.json'),
];
let platform: LocalPlatform;
let deviceId: string;
let agent: AgentProcess;
const helpers: ChildProcess[] = [];

beforeEach(async () => {
  platform = await LocalPlatform.start();
  deviceId = platform.ensureDevice('recipe', 'recipe-token').id;
});
afterEach(async () => {
  await agent.remove();
  for (const one of helpers.splice(0)) one.kill('SIGTERM');
  await platform.close();
});

const latest = (key: string) => platform.state.telemetry.series(deviceId, key).latest();

async function running(sensor: string): Promise<void> {
  const config = `version: 1
platform: { url: "${platform.url}", accessToken: recipe-token }
status: { page: off }
sensors:
${sensor}`;
  agent = await AgentProcess.make(config, 'RECIPE-1');
  agent.start();
}

/** The real program, or its stored output again and again. */
function played(file: string, real: readonly [program: string, ...options: string[]]): string {
  const [program, ...options] =
    PYPI === undefined ? ['/bin/sh', '-c', `while :; do cat ${join(FIXTURES, file)}; sleep 1; done`] : real;
  return `program: ${program}\n    arguments: ${JSON.stringify(options)}`;
}

/** Writes the Python program under a heading of the page to a file, and returns its path. */
async function programUnder(heading: string, name: string): Promise<string> {
  const page = await readFile(join(import.meta.dirname, '../../docs/drivers.md'), 'utf8');
  const section = page.slice(page.indexOf(`## ${heading}`));
  const file = join('/tmp', `turnstone-${name}-${process.pid}.py`);
  await writeFile(file, /```python\n([\s\S]*?)```/.exec(section)?.[1] ?? '', { mode: 0o755 });
  return file;
}

/** The processes of a program that the agent runs. */
async function marked(name: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((one) => /^\d+$/.test(one)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [environment, command] = await Promise.all(
        ['environ', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '')),
      );
      return environment?.includes(`${MARK}=`) && command?.includes(name) ? [pid] : [];
    }),
  );
  return found.flat();
}

/** Kills it, and waits until the platform has a newer value. */
async function survivesKill(program: string, key: string): Promise<void> {
  await until(`${key} at the platform`, () => latest(key) !== undefined, WAIT_MS);
  const pids = await marked(program);
  expect(pids.length).toBeGreaterThan(0);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  await until('its end in the log', () => agent.log.includes('was ended by SIGKILL'), WAIT_MS);
  const before = latest(key)?.ts ?? 0;
  await until(`a newer ${key}`, () => (latest(key)?.ts ?? 0) > before, WAIT_MS);
  expect(await agent.stopCode()).toBe(0);
  expect(await marked(program)).toEqual([]);
}

describe('a recipe', { timeout: 120_000 }, () => {
  it.skipIf(!existsSync('/usr/bin/rtl_433'))('reads a thermometer by radio: rtl_433', async () => {
    const row = '{36}2a80d7f28';
    // It ends after its test code, and a radio does not: it is run again and again.
    const script = `while :; do /usr/bin/rtl_433 -F json -R 19 -y '${row}/${row}/${row}/${row}'; sleep 1; done`;
    await running(`  - name: garden
    kind: process
    program: /bin/sh
    arguments: [-c, "${script}"]
    where: { model: Nexus-TH, id: 42 }
    paths: { temperature: temperature_C, humidity: humidity }
    period: 5s
    deadline: 2s
`);
    await until('a temperature', () => latest('temperature') !== undefined, WAIT_MS);
    expect([latest('temperature')?.value, latest('humidity')?.value]).toEqual([21.5, 40]);
    await survivesKill('rtl_433', 'temperature');
  });

  it.skipIf(!existsSync('/usr/bin/gpsfake'))('reads a receiver behind gpsd: gpspipe', async () => {
    const port = 20_000 + (process.pid % 10_000);
    const nmea = join('/tmp', `turnstone-gps-${process.pid}.nmea`);
    await writeFile(
      nmea,
      '$GPGGA,092725.00,4717.11399,N,00833.91590,E,1,08,1.01,499.6,M,48.0,M,,*5B\n$GPRMC,083559.00,A,4717.11437,N,00833.91522,E,0.004,77.52,091202,,,A*57\n',
    );
    helpers.push(spawn('/usr/bin/gpsfake', ['-c', '0.2', '-P', String(port), nmea], { stdio: 'ignore' }));
    await running(`  - name: receiver
    kind: process
    program: /usr/bin/gpspipe
    arguments: [-w, "localhost:${port}"]
    where: { class: TPV }
    paths: { latitude: lat, longitude: lon, altitude: altMSL }
    period: 5s
    deadline: 2s
`);
    await until('a place', () => latest('latitude') !== undefined, WAIT_MS);
    expect(latest('latitude')?.value).toBeCloseTo(47.2852, 3);
    await survivesKill('gpspipe', 'latitude');
  });

  it('reads a CAN bus: candump on vcan0, else the text that it records', async () => {
    const log = join(FIXTURES, 'engine.candump');
    const hasBus = existsSync('/sys/class/net/vcan0') && existsSync('/usr/bin/candump');
    if (hasBus) helpers.push(spawn('/usr/bin/canplayer', ['-I', log, '-l', 'i', 'vcan0=can0'], { stdio: 'ignore' }));
    const bus = 'program: /usr/bin/candump\n    arguments: [-L, "vcan0,123:7FF"]';
    await running(`  - name: bus
    kind: process
    ${hasBus ? bus : played('engine.candump', ['/bin/sh', '-c', `while :; do cat ${log}; sleep 1; done`])}
    format: regex
    pattern: '^\\(\\S+\\) \\S+ 123#(?<temperature>[0-9A-F]{4})'
    keys: { temperature: { radix: 16, scale: 0.1, unit: "°C" } }
    period: 5s
    deadline: 2s
`);
    await until('a temperature', () => latest('temperature') !== undefined, WAIT_MS);
    expect(latest('temperature')?.value).toBeCloseTo(23.4, 6);
    await survivesKill(hasBus ? 'candump' : 'engine.candump', 'temperature');
  });

  it('names values of a CAN bus by a DBC file: cantools', async () => {
    const [log, dbc] = ['engine.candump', 'engine.dbc'].map((name) => join(FIXTURES, name));
    const decode = `while :; do cat ${log}; sleep 1; done | ${PYPI}/bin/cantools decode -s ${dbc}`;
    await running(`  - name: engine
    kind: process
    ${played('cantools.txt', ['/bin/sh', '-c', decode])}
    format: regex
    pattern: ':: Engine\\(Temperature: (?<temperature>[-0-9.e]+) degC, Speed: (?<speed>[-0-9.e]+) rpm\\)'
    keys: { temperature: { unit: "°C", round: 1 }, speed: { unit: rpm } }
    period: 5s
    deadline: 2s
`);
    await until('a speed', () => latest('speed') !== undefined, WAIT_MS);
    expect([latest('temperature')?.value, latest('speed')?.value]).toEqual([23.4, 64.5]);
    await survivesKill(PYPI === undefined ? 'cantools.txt' : 'cantools', 'speed');
  });

  it('reads a thermometer by Bluetooth: RuuviTag', async () => {
    const program = await programUnder('Bluetooth thermometers', 'ruuvitag');
    await running(`  - name: cellar
    kind: process
    ${played('ruuvitag.jsonl', [PYTHON, ...REPLAY, program])}
    environment: { RUUVI_BLE_ADAPTER: bleak }
    where: { mac: "CB:B8:33:4C:88:4F" }
    paths: { temperature: temperature, humidity: humidity, pressure: pressure, batteryVoltage: battery }
    keys: { batteryVoltage: { scale: 0.001, unit: V } }
    period: 5s
    deadline: 2s
`);
    await until('a temperature', () => latest('temperature') !== undefined, WAIT_MS);
    const values = ['temperature', 'humidity', 'pressure', 'batteryVoltage'].map((key) => latest(key)?.value);
    expect(values).toEqual([24.3, 53.49, 1000.44, 2.977]);
    await survivesKill('ruuvitag', 'temperature');
  });

  it('reads a battery monitor and a charger by Bluetooth: victron-ble', async () => {
    const devices = [
      'DC:10:00:00:00:01@aff4d0995b7d1e176c0c33ecb9e70dcd',
      'DC:10:00:00:00:02@adeccb947395801a4dd45a2eaa44bf17',
    ];
    const program = played('victron.jsonl', [PYTHON, ...REPLAY, `${PYPI}/bin/victron-ble`, 'read', ...devices]);
    // The recorded advertisements never change, and it prints each of them once.
    await running(`  - name: battery
    kind: process
    ${program}
    where: { address: "DC:10:00:00:00:01" }
    paths: { batteryVoltage: payload.voltage, batterySoc: payload.soc }
    period: 5s
    maxSilence: 0s
  - name: charger
    kind: process
    ${program}
    where: { address: "DC:10:00:00:00:02" }
    paths: { solarPower: payload.solar_power }
    period: 5s
    maxSilence: 0s
`);
    await until('a power', () => latest('solarPower') !== undefined, WAIT_MS);
    const values = ['batteryVoltage', 'batterySoc', 'solarPower'].map((key) => latest(key)?.value);
    expect(values).toEqual([12.53, 50, 19]);
    await survivesKill('victron', 'batteryVoltage');
  });

  it('reads a water meter by radio: the recorded JSON of wmbusmeters', async () => {
    const file = join(FIXTURES, 'wmbusmeters.jsonl');
    await running(`  - name: water
    kind: process
    program: /bin/sh
    arguments: [-c, "while :; do cat ${file}; sleep 1; done"]
    where: { id: "76348799" }
    paths: { water: total_m3, flowTemperature: flow_temperature_c }
    period: 5s
    deadline: 2s
`);
    await until('a volume', () => latest('water') !== undefined, WAIT_MS);
    expect(latest('water')?.value).toBe(6.408);
    await survivesKill('wmbusmeters', 'water');
  });

  it.skipIf(!existsSync('/usr/bin/python3'))('reads a barcode reader: the program of the page', async () => {
    const program = await programUnder('Barcode reader', 'scanner');
    const device = join('/tmp', `turnstone-events-${process.pid}`);
    const names: Record<string, string> = JSON.parse(await readFile(join(FIXTURES, 'evdev.json'), 'utf8'));
    const codes = [...Object.keys(names).map(Number), 28];
    const record = Buffer.concat(
      codes.flatMap((code) =>
        [1, 0].map((value) => {
          // struct input_event of a 64-bit machine: time, type EV_KEY, code, value.
          const event = Buffer.alloc(24);
          event.writeUInt16LE(1, 16);
          event.writeUInt16LE(code, 18);
          event.writeInt32LE(value, 20);
          return event;
        }),
      ),
    );
    execFileSync('mkfifo', [device]);
    const reader = await open(device, 'r+');
    const scanning = setInterval(() => void reader.write(record), 500);
    try {
      await running(`  - name: scanner
    kind: process
    program: ${program}
    arguments: [${device}]
    maxSilence: 0s
`);
      await until('a code', () => latest('barcode') !== undefined, WAIT_MS);
      const keys = Object.values(names).map((name) => name.replace('KEY_', ''));
      expect(latest('barcode')?.value).toBe(keys.join(''));
      await survivesKill('turnstone-scanner', 'barcode');
    } finally {
      clearInterval(scanning);
      await reader.close();
      await rm(device);
    }
  });

  it.skipIf(!existsSync('/usr/sbin/snmpd'))('reads a switch or a UPS: snmpget', async () => {
    const port = 30_000 + (process.pid % 10_000);
    const file = join('/tmp', `turnstone-snmp-${process.pid}.conf`);
    await writeFile(file, 'rocommunity public 127.0.0.1\nsysLocation cellar\n');
    const options = ['-f', '-C', '-c', file, '-Ln', `udp:127.0.0.1:${port}`];
    helpers.push(spawn('/usr/sbin/snmpd', options, { stdio: 'ignore' }));
    const get = `snmpget -v2c -c public -Oqvt 127.0.0.1:${port} 1.3.6.1.2.1.1.3.0`;
    await running(`  - name: rack
    kind: process
    program: /bin/sh
    arguments: [-c, "while v=$(${get}); do echo $v; sleep 1; done; exit 1"]
    format: number
    key: upTime
    keys: { upTime: { scale: 0.01, unit: s } }
    period: 5s
    deadline: 2s
`);
    await survivesKill('snmpget', 'upTime');
  });

  it.skipIf(PYPI !== undefined && !existsSync('/usr/sbin/snmpd'))('reads a switch or a UPS: pysnmp', async () => {
    const port = 40_000 + (process.pid % 10_000);
    const file = join('/tmp', `turnstone-snmp-${process.pid}.conf`);
    await writeFile(file, 'rocommunity public 127.0.0.1\n');
    const options = ['-f', '-C', '-c', file, '-Ln', `udp:127.0.0.1:${port}`];
    if (PYPI !== undefined) helpers.push(spawn('/usr/sbin/snmpd', options, { stdio: 'ignore' }));
    const program = await programUnder('SNMP', 'pysnmp');
    const asked = [`127.0.0.1:${port}`, 'public', '1.3.6.1.2.1.1.3.0', 'upTime', '1'];
    await running(`  - name: rack
    kind: process
    ${played('pysnmp.jsonl', [PYTHON, program, ...asked])}
    keys: { upTime: { scale: 0.01, unit: s } }
    period: 5s
    deadline: 2s
`);
    await survivesKill('pysnmp', 'upTime');
    expect(latest('upTime')?.value).toBeGreaterThan(0);
  });
});
