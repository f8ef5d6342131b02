/** A board with one of everything, for who starts it without a configuration of its own. */
import type { BoardConfigInput } from './board-config.ts';

const room = (base: number, drift: number, noise: number) => ({ kind: 'room' as const, base, drift, noise });
const constant = (value: number) => ({ kind: 'constant' as const, value });

const TEMPERATURE = { kind: 'room' as const, base: 21.5, day: 2.5, drift: 0.4, noise: 0.02 };
const HUMIDITY = { kind: 'room' as const, base: 45, day: -6, drift: 2, noise: 0.1, min: 5, max: 95 };
const PRESSURE = { kind: 'room' as const, base: 1013.2, day: 0.5, drift: 1.5, noise: 0.02 };
const DAYLIGHT = { kind: 'room' as const, base: 400, day: 380, drift: 10, noise: 2, min: 0 };

export const SAMPLE_BOARD: BoardConfigInput = {
  version: 1,
  gpio: [
    {
      chip: 'gpiochip0',
      label: 'simulated',
      names: { 4: 'DOOR', 5: 'METER', 17: 'GPIO17', 18: 'GPIO18', 27: 'GPIO27' },
      held: { 31: 'heartbeat' },
      inputs: [
        { offset: 4, key: 'door', signal: { kind: 'door', perHour: 60, openMs: 8_000 } },
        { offset: 5, key: 'meter', signal: { kind: 'square', hz: 2 } },
      ],
    },
  ],
  i2c: [
    {
      bus: 1,
      chips: [
        { kind: 'mcp9808', address: 0x18, signals: { temperature: TEMPERATURE } },
        { kind: 'bh1750', address: 0x23, signals: { illuminance: DAYLIGHT } },
        { kind: 'ina219', address: 0x40, signals: { voltage: room(12.3, 0.1, 0.005), current: room(0.8, 0.2, 0.005) } },
        { kind: 'sht3x', address: 0x44, signals: { temperature: TEMPERATURE, humidity: HUMIDITY } },
        {
          kind: 'ads1115',
          address: 0x48,
          signals: { A0: room(1.2, 0.3, 0.001), A1: room(0.6, 0.1, 0.001), A2: constant(0), A3: constant(0) },
        },
        { kind: 'tmp102', address: 0x49, signals: { temperature: TEMPERATURE } },
        { kind: 'lm75', address: 0x4f, signals: { temperature: TEMPERATURE } },
        { kind: 'bme280', address: 0x76, signals: { temperature: TEMPERATURE, humidity: HUMIDITY, pressure: PRESSURE } },
        { kind: 'bmp280', address: 0x77, signals: { temperature: TEMPERATURE, pressure: PRESSURE } },
      ],
    },
  ],
  serial: [
    {
      port: '/dev/ttyUSB0',
      pty: false,
      talk: {
        kind: 'lines',
        periodMs: 1_000,
        values: { flow: { signal: room(2.5, 0.4, 0.02) }, level: { signal: room(1.2, 0.2, 0.001), digits: 3 } },
      },
    },
    {
      port: '/dev/ttyACM0',
      pty: false,
      talk: { kind: 'nmea', latitude: constant(47.0707), longitude: constant(15.4395), speedKnots: constant(0.1) },
    },
  ],
  modbusTcp: [
    {
      host: 'meter.local',
      port: 502,
      units: { '1': { holding: { '0': constant(0), '1': room(2300, 20, 2) }, coil: { '0': constant(0) } } },
    },
  ],
  oneWire: [{ id: '28-0316a2794aff', signal: TEMPERATURE }],
  pwm: [{ chip: 0, channels: 2 }],
};
