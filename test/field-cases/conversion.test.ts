/** Values as devices really send them, through the agent's own reading path: real ptys and sockets, the sensor as it is configured, the sampler. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linuxPorts } from '../../src/hardware/linux-ports.ts';
import type { Ports } from '../../src/hardware/ports.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { loadDrivers, samplerEntry } from '../../src/sensors/create-sensor.ts';
import type { Sample } from '../../src/sensors/kind/sensor.ts';
import { Sampler } from '../../src/sensors/sampler.ts';
import { PtyWire } from '../../src/stand-ins/simulated-board/serial-wire.ts';
import { until } from '../support/board-bench.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { OF_THIS_MACHINE, sensorConfig } from '../support/sensor-bench.ts';

type Options = Readonly<Record<string, unknown>>;

let folder: string;
let ports: Ports;
const opened: { close(): unknown }[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'conversion-'));
  ports = linuxPorts(systemClock, 'auto');
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await ports.close();
  await rm(folder, { recursive: true });
});

/** A sensor under the sampler. `kind` and its options as YAML would give them. */
async function sampled(options: Options & { readonly kind: 'serial-line' | 'command' | 'modbus' }) {
  const config = sensorConfig({ name: 'device', period: '1h', deadline: '5s', ...options });
  await loadDrivers({ sensors: [config] });
  const samples: Sample[] = [];
  const deps = {
    ...OF_THIS_MACHINE,
    ports,
    clock: systemClock,
    files: systemFiles,
    log: silentLog,
    stateFolder: folder,
  };
  const entry = (more: Options = {}) =>
    samplerEntry(sensorConfig({ name: 'device', period: '1h', deadline: '5s', ...options, ...more }), deps);
  const sampler = new Sampler({ clock: deps.clock, log: silentLog, onSamples: (taken) => samples.push(...taken) }, [
    entry(),
  ]);
  opened.push(sampler);
  sampler.start(new AbortController().signal);
  const state = () => sampler.states()[0] ?? expect.fail('no sensor');
  return { sampler, samples, state, entry };
}

/** Lines that a device prints on a pty, and what becomes of them: `key value` in their order, refusals with `!`. */
async function ofLines(lines: readonly string[], options: Options) {
  const port = join(folder, 'line');
  const wire = new PtyWire(port, () => {});
  opened.push(wire);
  const { samples, state } = await sampled({ kind: 'serial-line', port, ...options });
  // The first line may have been cut: it is dropped.
  const last = () => state().reads;
  let looks = 0;
  await until('the port is open', () => {
    // Again only where the first was lost, as the port was not open yet.
    if (last() === 0 && looks++ % 100 === 0) wire.send(Buffer.from(`x\n${lines[0]}\n`, 'latin1'));
    return last() > 0;
  });
  const first = last();
  samples.splice(0);
  wire.send(Buffer.from(`${lines.join('\n')}\n`, 'latin1'));
  await until('all lines', () => last() >= first + lines.length);
  return { values: samples.map(({ key, value }) => [key, value]), refused: state().refused };
}

/** A program that prints this, read once. */
async function ofOutput(text: string, options: Options) {
  const { samples, state } = await sampled({
    kind: 'command',
    program: '/usr/bin/printf',
    arguments: ['%s', text],
    ...options,
  });
  await until('the read', () => state().reads + state().failures > 0);
  return {
    values: Object.fromEntries(samples.map(({ key, value }) => [key, value])),
    refused: state().refused.map(({ key, code }) => `${key} ${code}`),
  };
}

/** A Modbus TCP unit whose holding registers these are, from address 0; the others are 0. */
async function ofRegisters(words: readonly number[], registers: Options, keys: Options = {}) {
  const server: Server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (request) => {
      const [from, count] = [request.readUInt16BE(8), request.readUInt16BE(10)];
      const answer = Buffer.alloc(9 + 2 * count);
      request.copy(answer, 0, 0, 8);
      answer.writeUInt16BE(3 + 2 * count, 4);
      answer[8] = 2 * count;
      for (let at = 0; at < count; at += 1) answer.writeUInt16BE(words[from + at] ?? 0, 9 + 2 * at);
      socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push({ close: () => void server.close() });
  const { port } = server.address() as { readonly port: number };
  const connection = { transport: 'tcp', host: '127.0.0.1', port };
  const { samples, state } = await sampled({ kind: 'modbus', connection, registers, keys });
  await until('the read', () => state().reads + state().failures > 0);
  return {
    values: Object.fromEntries(samples.map(({ key, value }) => [key, value])),
    refused: state().refused.map(({ key, code }) => `${key} ${code}`),
    error: state().error,
  };
}

describe('text from devices', () => {
  it('row 3: takes blanks after the sign of a scale', async () => {
    const pattern = '(?:ST|US),(?:GS|NT),(?<w>[-+ ]? *[0-9.]+) *kg';
    const { values } = await ofLines(['ST,GS,-  0.500kg', 'ST,NT,+  1.234kg', 'US,GS,   7.5 kg'], {
      format: 'regex',
      pattern,
    });
    expect(values).toEqual([
      ['w', -0.5],
      ['w', 1.234],
      ['w', 7.5],
    ]);
  });

  it('row 4: keeps the number of a card as text, with its zeros and its E', async () => {
    const options = { format: 'regex', pattern: '(?<tag>[0-9A-F]+)\x03?$', keys: { tag: { type: 'text' } } };
    expect((await ofLines(['\x025E0010\x03', '\x020009876543\x03'], options)).values).toEqual([
      ['tag', '5E0010'],
      ['tag', '0009876543'],
    ]);
  });

  it('row 12: reads Latin-1 where it is told', async () => {
    const { values } = await ofLines(['T;R\xFCcklauf', 'T;Vorlauf'], {
      format: 'csv',
      separator: ';',
      columns: ['', 'place'],
      encoding: 'latin1',
    });
    expect(values).toEqual([
      ['place', 'Rücklauf'],
      ['place', 'Vorlauf'],
    ]);
  });

  it('row 22: reads a decimal comma, and refuses what it cannot be', async () => {
    const options = {
      format: 'csv',
      separator: ';',
      columns: ['', 'in', 'out', 'sum'],
      keys: { '*': { decimal: ',' } },
    };
    expect(await ofOutput(';21,5;-3,25;1.234', options)).toEqual({
      values: { in: 21.5, out: -3.25 },
      refused: ['sum sensors/bad-reading'],
    });
  });

  it.each([
    ['21,5', { decimal: ',' }, { value: 21.5 }],
    ['-1.234,5', { decimal: ',' }, {}],
    ['FF', { radix: 16 }, { value: 255 }],
    ['shut', { map: { shut: 0, open: 100 } }, { value: 0 }],
    ['21.5', {}, { value: 21.5 }],
    ['warm', {}, {}],
    ['warm', { nulls: ['OL'], scale: 2 }, {}],
  ])('a format of one number is judged after the conversion: %s %j', async (line, rules, values) => {
    const read = await ofOutput(line, { format: 'number', keys: { value: rules } });
    expect(read).toEqual({ values, refused: [] });
  });

  it('a format of one number leaves a word for none out', async () => {
    const options = { format: 'number', keys: { '*': { nulls: ['OL'], decimal: ',' } } };
    expect(await ofOutput('OL', options)).toEqual({ values: {}, refused: ['value sensors/no-value'] });
  });

  it('row 24: takes words for values, and for none', async () => {
    const options = {
      format: 'csv',
      columns: ['pump', 'valve', 'level', 'ohms', 'flow'],
      keys: {
        pump: { map: { on: true, off: false } },
        valve: { type: 'boolean' },
        level: { map: { 'N/A': null } },
        ohms: { nulls: ['OL', -1] },
        flow: { nulls: ['OL', -1] },
      },
    };
    const { values, refused } = await ofOutput('on,TRUE,N/A,OL,-1.0', options);
    expect(values).toEqual({ pump: true, valve: true });
    expect(refused).toEqual(['level sensors/no-value', 'ohms sensors/no-value', 'flow sensors/no-value']);
    expect((await ofOutput('off,0,5,2,3', options)).values).toEqual({
      pump: false,
      valve: false,
      level: 5,
      ohms: 2,
      flow: 3,
    });
  });

  it('row 25: reads hexadecimal fields with a sign bit', async () => {
    const rules = { radix: 16, bits: 16, signMagnitude: true, scale: 0.1 };
    const { values } = await ofLines(['TEMP=800a', 'TEMP=0062'], {
      format: 'regex',
      pattern: 'TEMP=(?<t>\\w+)',
      keys: { t: rules },
    });
    expect(values).toEqual([
      ['t', -1],
      ['t', 9.8],
    ]);
    expect(
      (
        await ofOutput('FFF6', {
          format: 'csv',
          columns: ['t'],
          keys: { t: { radix: 16, bits: 16, signed: true, scale: 0.1 } },
        })
      ).values,
    ).toEqual({ t: -1 });
  });

  it('row 27: leaves out what is outside of the range of any key, and says so', async () => {
    const options = { format: 'number', key: 't', keys: { t: { min: -40, max: 85 } } };
    const { values, refused } = await ofLines(['21.4', '327.67', '-127.00'], options);
    expect(values).toEqual([['t', 21.4]]);
    expect(refused).toMatchObject([{ key: 't', code: 'sensors/out-of-range' }]);
  });

  it('row 31: takes another exit status for good where it is told', async () => {
    const program = join(folder, 'answers');
    await writeFile(program, '#!/bin/sh\necho 7\nexit 4\n');
    await chmod(program, 0o755);
    const options = { program, arguments: [], format: 'number', key: 'n' };
    expect((await ofOutput('', { ...options, goodStatus: [0, 4] })).values).toEqual({ n: 7 });
    expect((await ofOutput('', options)).values).toEqual({});
  });
});

describe('numbers in registers', () => {
  it('row 10: gives the shortest decimal that is the same float32', async () => {
    const { values } = await ofRegisters([0x4366, 0x199a, 0x3dcc, 0xcccd], {
      volts: { address: 0, type: 'float32' },
      ratio: { address: 2, type: 'float32' },
    });
    expect(values).toEqual({ volts: 230.1, ratio: 0.1 });
  });

  it('limits registers by the rules of their keys, after the scale of the register', async () => {
    const registers = { low: { address: 0, type: 'int16', scale: 0.1 }, high: { address: 1, scale: 0.1 } };
    const keys = { low: { min: -10 }, '*': { max: 100 } };
    const outside = await ofRegisters([0xff9b, 1_001], registers, keys);
    expect(outside.values).toEqual({});
    expect(outside.refused.toSorted()).toEqual(['high sensors/out-of-range', 'low sensors/out-of-range']);
    expect((await ofRegisters([0xff9c, 1_000], registers, keys)).values).toEqual({ low: -10, high: 100 });
  });

  it('row 17: scales by the factor in another register, and gives none without one', async () => {
    const registers = {
      a: { address: 0, scaleFrom: 100 },
      b: { address: 1, type: 'uint16', scaleFrom: 'bFactor' },
      bFactor: { address: 101, type: 'int16' },
      c: { address: 2, scaleFrom: 102, unit: 'V' },
      d: { address: 2, scaleFrom: 103 },
      e: { address: 0, scaleFrom: 100 },
    };
    const words = Object.assign(
      Array.from({ length: 104 }, () => 0),
      { 0: 4321, 1: 43210, 2: 432, 100: 0xffff, 101: 0xfffe, 102: 0, 103: 0x8000 },
    );
    const { values, refused } = await ofRegisters(words, registers, { e: { max: 400 } });
    expect(values).toEqual({ a: 432.1, b: 432.1, bFactor: -2, c: 432 });
    expect(refused.toSorted()).toEqual(['d sensors/no-value', 'e sensors/out-of-range']);
  });

  it('row 18: reads BCD, and refuses digits that are none', async () => {
    const registers = { total: { address: 0, type: 'uint32', bcd: true }, bad: { address: 2, bcd: true } };
    expect(await ofRegisters([0x1234, 0x5678, 0x12a4], registers)).toMatchObject({
      values: { total: 12345678 },
      refused: ['bad sensors/bad-reading'],
    });
  });

  it('row 19: reads bytes, bits and a sign bit of a register', async () => {
    const registers = {
      high: { address: 0, bytes: 'high' },
      low: { address: 0, bytes: 'low' },
      signed: { address: 1, signMagnitude: true },
      field: { address: 0, mask: 0x0f00, shift: 8 },
      mode: { address: 0, bytes: 'low', map: { 43: 'heating' } },
      none: { address: 1, nulls: [0x8005] },
    };
    const { values, refused } = await ofRegisters([0x1a2b, 0x8005], registers, {
      low: { map: { 43: 44 }, scale: 0.5 },
    });
    expect(values).toEqual({ high: 26, low: 22, signed: -5, field: 10, mode: 'heating' });
    expect(refused).toEqual(['none sensors/no-value']);
  });
});

describe('the chain', () => {
  it('goes by new words after a reload, with the counts that it had', async () => {
    const { sampler, samples, state, entry } = await sampled({
      kind: 'command',
      program: '/bin/echo',
      arguments: ['215'],
      format: 'number',
    });
    await until('the read', () => state().reads === 1);
    await sampler.configure([entry({ keys: { value: { scale: 0.1, min: 0 } } })]);
    await until('the next', () => state().reads === 2);
    expect(samples.map(({ value }) => value)).toEqual([215, 21.5]);
    expect(await sampler.readNow('device', new AbortController().signal)).toMatchObject([{ value: 21.5 }]);
    await sampler.configure([entry({ keys: { value: { max: 20 } } })]);
    await until('the refusal', () => state().refused.length === 1);
    await expect(sampler.readNow('device', new AbortController().signal)).rejects.toMatchObject({
      code: 'sensors/out-of-range',
    });
    expect(state()).toMatchObject({ state: 'working', failures: 0 });
  });

  it('refuses a spike, and takes a step for which there was time', async () => {
    const clock = new FakeClock();
    const values = [20, 80, 21, 40, 40];
    const read = async () => [{ key: 't', value: values.shift() ?? 0 }];
    const samples: Sample[] = [];
    const sampler = new Sampler({ clock, log: silentLog, onSamples: (taken) => samples.push(...taken) }, [
      {
        name: 'roof',
        kind: 'test',
        periodMs: 60_000,
        deadlineMs: 500,
        align: false,
        revision: '1',
        conversions: { '*': { maxStep: { by: 10, perMs: 60_000 } } },
        open: async () => ({ name: 'roof', read, close: async () => {} }),
      },
    ]);
    opened.push(sampler);
    sampler.start(new AbortController().signal);
    await clock.advance(4 * 60_000);
    expect(samples.map(({ value }) => value)).toEqual([20, 21, 40]);
  });
});
