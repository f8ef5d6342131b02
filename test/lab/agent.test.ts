/** The whole agent on a real kernel's pins, buses and ports, against the platform outside. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADS1115, BME280, setRegisters, setWord, WARMER } from './chips.ts';
import { Guest } from './guest.ts';
import { GuestAgent, makeBundle } from './guest-agent.ts';
import { ModbusMeter } from './modbus-meter.ts';
import { PlatformView, until } from './platform-view.ts';

const DOOR = 0;
const RELAY = 3;
/** 12,345,678 hundredths of a kilowatt-hour in two registers, and 2314 tenths of a volt. */
const METER_REGISTERS = new Map([
  [0, 12_345_678 >> 16],
  [1, 12_345_678 & 0xffff],
  [10, 2314],
]);

describe('the agent in a guest', () => {
  let guest: Guest;
  let agent: GuestAgent;
  let view: PlatformView;
  let device: string;
  let weather: Socket;
  let meter: ModbusMeter;

  beforeAll(async () => {
    view = await PlatformView.open();
    device = view.device('lab-gateway', 'lab-token');
    [guest] = await Promise.all([Guest.boot(), makeBundle()]);
    await guest.run('/lab/test/lab/guest/board');
    await setRegisters(guest, BME280.address, BME280.registers);
    await setWord(guest, ADS1115.address, ADS1115.conversionRegister, ADS1115.halfOfRange);
    meter = new ModbusMeter(await guest.serial('ttyS1'), METER_REGISTERS);
    weather = await guest.serial('ttyUSB0');
    await until('the USB port', async () =>
      (await guest.attempt('test -c /dev/ttyUSB0')).status === 0 ? true : undefined,
    );
    agent = new GuestAgent(guest);
    await agent.configure(configuration(view.urlFromGuest, (await guest.run('cat /run/i2c-bus')).trim()));
    await agent.start();
  });
  afterAll(async () => {
    await guest?.kill();
    await view?.close();
  });

  it('reports an I2C chip in its units', async () => {
    const { value } = await view.value(device, 'roomTemperature', () => true);
    expect(value).toBeCloseTo(BME280.celsius, 1);
    expect((await view.value(device, 'roomPressure', () => true)).value).toBeCloseTo(BME280.hectopascals, 0);
    await setRegisters(guest, BME280.address, WARMER);
    await view.value(device, 'roomTemperature', (later) => Number(later) > BME280.celsius + 4);
  });

  it('reports the voltage of a converter', async () => {
    expect((await view.value(device, 'tankVolts', () => true)).value).toBeCloseTo(ADS1115.volts, 3);
  });

  it('reports a Modbus meter on a serial line', async () => {
    await view.value(device, 'energy', (value) => value === 123_456.78);
    expect((await view.value(device, 'gridVolts', () => true)).value).toBeCloseTo(231.4, 3);
    const energy = 12_345_679;
    meter.registers.set(0, energy >> 16).set(1, energy & 0xffff);
    await view.value(device, 'energy', (value) => value === 123_456.79);
    expect(meter.requests).toBeGreaterThan(1);
  });

  it('reports every change of a pin, in order', async () => {
    await view.value(device, 'doorOpen', () => true);
    await pull(guest, DOOR, 'down');
    await view.value(device, 'doorOpen', (value) => value === false);
    for (const direction of ['up', 'down', 'up', 'down', 'up'] as const) {
      await pull(guest, DOOR, direction);
      await sleep(100);
    }
    await view.value(device, 'doorOpen', (value) => value === true);
    const changes = (await view.series(device, 'doorOpen')).map(({ value }) => value);
    expect(changes.slice(-6)).toEqual([false, true, false, true, false, true]);
  });

  it('reports what a serial port says, also after it was unplugged and came back', async () => {
    weather.write('{"windSpeed": 4.5}\n');
    await view.value(device, 'windSpeed', (value) => value === 4.5);
    weather.destroy();
    await until('the port to go', async () =>
      (await guest.attempt('test -c /dev/ttyUSB0')).status === 0 ? undefined : true,
    );
    await setWord(guest, ADS1115.address, ADS1115.conversionRegister, ADS1115.halfOfRange);
    meter = new ModbusMeter(await guest.serial('ttyS1'), METER_REGISTERS);
    weather = await guest.serial('ttyUSB0');
    await until('the reading after it came back', async () => {
      weather.write('{"windSpeed": 7.25}\n');
      await sleep(300);
      return (await view.series(device, 'windSpeed')).some(({ value }) => value === 7.25) || undefined;
    });
  });

  it('reports the machine itself', async () => {
    for (const key of ['cpuPercent', 'load1', 'memoryUsedPercent', 'uptimeS']) {
      const { value } = await view.value(device, key, (found) => typeof found === 'number');
      expect(value, key).toBeGreaterThanOrEqual(0);
    }
  });

  it('moves a relay by RPC, seen at the pin', async () => {
    await view.rpc(device, 'setActuator', { name: 'pump', value: true });
    expect(await voltage(guest, RELAY)).toBe(1);
    await view.rpc(device, 'setActuator', { name: 'pump', value: false });
    expect(await voltage(guest, RELAY)).toBe(0);
  });

  it('moves a relay by shared attribute, and reports its real state', async () => {
    await view.share(device, { pump: true });
    await until('the relay to close', async () => ((await voltage(guest, RELAY)) === 1 ? true : undefined));
    await until(
      'the state',
      async () => (await view.attribute(device, 'CLIENT_SCOPE', 'pumpState')) === true || undefined,
    );
  });

  it('delivers what happened without a network, with the times at which it happened', async () => {
    await pull(guest, DOOR, 'down');
    await view.value(device, 'doorOpen', (value) => value === false);
    await guest.run('ip link set eth0 down');
    const fromMs = await guestTime(guest);
    await pull(guest, DOOR, 'up');
    const toMs = await guestTime(guest);
    await sleep(8000);
    expect((await view.series(device, 'doorOpen')).at(-1)?.value).toBe(false);
    await guest.run('ip link set eth0 up && ip route add default via 10.0.2.2');
    const { ts } = await view.value(device, 'doorOpen', (value) => value === true);
    expect(ts).toBeGreaterThanOrEqual(fromMs);
    expect(ts).toBeLessThanOrEqual(toMs);
  });

  it('puts a relay into its safe state when it is stopped', async () => {
    await view.rpc(device, 'setActuator', { name: 'pump', value: true });
    expect(await voltage(guest, RELAY)).toBe(1);
    await agent.stop();
    expect(await voltage(guest, RELAY)).toBe(0);
  });

  it('never writes its token', async () => {
    expect(await agent.log()).not.toContain('lab-token');
  });
});

async function pull(guest: Guest, offset: number, direction: 'up' | 'down'): Promise<void> {
  await guest.run(`echo pull-${direction} >/run/board/sim_gpio${offset}/pull`);
}

async function voltage(guest: Guest, offset: number): Promise<number> {
  return Number(await guest.run(`cat /run/board/sim_gpio${offset}/value`));
}

async function guestTime(guest: Guest): Promise<number> {
  return Number(await guest.run('date +%s%3N'));
}

function configuration(url: string, bus: string): string {
  return `version: 1
platform: { url: "${url}", accessToken: lab-token }
stateFolder: /data/state
runFolder: /run/turnstone
time: { trust: always }
log: { level: debug }
outbox: { commitAge: 500ms, minFree: 1MB }
status: { page: "off" }
firmware: { enabled: false }
sensors:
  - { name: door, kind: gpio-input, line: { chip: lab-board, offset: ${DOOR} }, period: 1m, keys: { state: { rename: doorOpen } } }
  - name: room
    kind: bme280
    bus: ${bus}
    address: 0x76
    period: 2s
    keys: { temperature: { rename: roomTemperature }, pressure: { rename: roomPressure }, humidity: { rename: roomHumidity } }
  - { name: weather, kind: serial-line, port: /dev/ttyUSB0, format: json, period: 10s }
  - { name: tank, kind: ads1115, bus: ${bus}, address: ${ADS1115.address}, period: 2s, channels: { tankVolts: { input: A0, rangeVolts: 4.096 } } }
  - name: grid
    kind: modbus
    period: 2s
    maxGap: 0
    connection: { transport: rtu, port: /dev/ttyS1, baudRate: 115200, parity: none, responseTimeout: 1s }
    registers:
      energy: { table: input, address: 0, type: uint32, scale: 0.01 }
      gridVolts: { table: input, address: 10, type: uint16, scale: 0.1 }
    keys: { energy: { round: 2 } }
  - { name: machine, kind: host, period: 5s, groups: [cpu, load, memory, uptime] }
actuators:
  - { name: pump, kind: gpio-output, line: { chip: lab-board, offset: ${RELAY} }, safe: { start: off, stop: off } }
`;
}
