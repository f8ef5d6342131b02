/** A board with one of everything, for who starts it without a configuration of its own. */
import type { BoardConfigInput } from './board-config.ts';
import { ROOM_SIGNALS, room, TEMPERATURE } from './room-signals.ts';
import type { Twins } from './twin.ts';

const constant = (value: number) => ({ kind: 'constant' as const, value });

export function sampleBoard(twins: Twins): BoardConfigInput {
  return {
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
        chips: [...twins].flatMap(([kind, { sample }]) =>
          sample === undefined ? [] : [{ kind, address: sample.address, signals: sample.signals ?? ROOM_SIGNALS }],
        ),
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
}
