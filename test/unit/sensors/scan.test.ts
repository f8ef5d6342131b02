import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { sensorSchema } from '../../../src/config/schema/sensors.ts';
import { systemClock } from '../../../src/host/clock.ts';
import type { Finding } from '../../../src/sensors/finding.ts';
import { scanI2c } from '../../../src/sensors/scan-i2c.ts';
import { scanGpio, scanOneWire, scanSerial } from '../../../src/sensors/scan-ports.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';

const signal = AbortSignal.timeout(60_000);
let bench: BoardBench;
afterEach(() => bench.close());

/** What the configuration makes of a snippet, as a technician would paste it. */
const configured = (finding: Finding | undefined): unknown => sensorSchema.parse((parse(finding?.snippet ?? '') as readonly unknown[])[0]);
const constant = (value: number) => ({ kind: 'constant' as const, value });

describe('a scan', () => {
  it('recognises chips on an I2C bus, each with a snippet that the configuration takes', async () => {
    const chips = [
      ['bh1750', 0x23, 'by-address'],
      ['ina219', 0x40, 'likely'],
      ['sht3x', 0x44, 'sure'],
      ['ads1115', 0x48, 'likely'],
      ['tmp102', 0x49, 'likely'],
      ['lm75', 0x4a, 'likely'],
      ['mcp9808', 0x1a, 'sure'],
      ['bme280', 0x76, 'sure'],
      ['bmp280', 0x77, 'sure'],
    ] as const;
    bench = await openBoardBench(() => ({
      i2c: [{ bus: 1, chips: [...chips.map(([kind, address]) => ({ kind, address })), { kind: 'i2c-register', address: 0x60 }] }],
    }));
    const findings = await scanI2c(bench.ports, 1, signal);
    expect(findings).toHaveLength(10);
    for (const [kind, address, certainty] of chips) {
      const finding = findings.find(({ where }) => where === `i2c-1 0x${address.toString(16)}`);
      expect(finding).toMatchObject({ what: kind, certainty });
      expect(configured(finding)).toMatchObject({ kind, bus: 1, address });
    }
    expect(findings.find(({ where }) => where === 'i2c-1 0x60')).toMatchObject({ certainty: 'unknown' });
  });

  it('ends when the bus hangs', async () => {
    bench = await openBoardBench(() => ({ i2c: [{ bus: 1, chips: [{ kind: 'bme280', address: 0x76 }] }] }));
    bench.board.bench.fault('i2c-1', 'hang');
    await expect(scanI2c(bench.ports, 1, AbortSignal.timeout(300))).resolves.toEqual([]);
  });

  it('guesses what speaks on a serial port, and sends nothing', async () => {
    bench = await openBoardBench((folder) => ({
      serial: [
        {
          port: join(folder, 'gps'),
          talk: { kind: 'nmea', periodMs: 40, latitude: constant(47), longitude: constant(15), speedKnots: constant(0) },
        },
        { port: join(folder, 'json'), talk: { kind: 'lines', periodMs: 30, values: { flow: { signal: constant(2.5) } } } },
        {
          port: join(folder, 'csv'),
          pty: false,
          talk: { kind: 'lines', format: 'csv', periodMs: 30, values: { a: { signal: constant(1) }, b: { signal: constant(2) } } },
        },
        { port: join(folder, 'quiet'), talk: { kind: 'listener' } },
      ],
    }));
    const findings = await scanSerial(bench.ports, systemClock, { listenMs: 250, baudRates: [9600, 115_200] }, signal);
    expect(findings.map(({ what }) => what)).toEqual(['nmea', 'serial-line', 'serial-line', 'a silent port']);
    expect(configured(findings[0])).toMatchObject({ kind: 'nmea', baudRate: 9600 });
    expect(configured(findings[1])).toMatchObject({ kind: 'serial-line', format: 'json' });
    expect(configured(findings[2])).toMatchObject({ format: 'csv', columns: ['column1', 'column2'] });
    expect((await bench.record()).filter(({ kind }) => kind === 'received')).toEqual([]);
  });

  it('reads each thermometer on the one-wire bus', async () => {
    bench = await openBoardBench(() => ({
      oneWire: [
        { id: '28-0316a2794aff', signal: constant(21.5) },
        { id: '01-0316a2794aff', signal: constant(0) },
      ],
    }));
    const findings = await scanOneWire(bench.ports, signal);
    expect(findings.find(({ what }) => what === 'ds18b20')).toMatchObject({ where: '28-0316a2794aff', detail: '21.5 °C' });
    expect(configured(findings.find(({ what }) => what === 'ds18b20'))).toMatchObject({ id: '28-0316a2794aff' });
    expect(findings.find(({ where }) => where === '01-0316a2794aff')?.certainty).toBe('unknown');
  });

  it('lists GPIO lines with their holders', async () => {
    bench = await openBoardBench(() => ({ gpio: [{ lines: 4, names: { 1: 'DOOR' }, held: { 2: 'sysfs' } }] }));
    const findings = await scanGpio(bench.ports, signal);
    expect(findings.map(({ what }) => what)).toEqual(['line 0 of simulated', 'DOOR', 'line 2 of simulated', 'line 3 of simulated']);
    expect(findings[2]).toMatchObject({ detail: 'held by sysfs' });
    expect(findings[2]?.snippet).toBeUndefined();
    expect(configured(findings[1])).toMatchObject({ kind: 'gpio-input', line: { chip: 'gpiochip0', offset: 1 } });
  });
});
