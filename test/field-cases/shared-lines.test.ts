/** Several devices behind one serial line: relay boards, scales with tare and dust sensors that sleep, and no answer for the wrong one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ActuatorDriver } from '../../src/actuators/kind/actuator.ts';
import { opener } from '../../src/actuators/serial-write/driver.ts';
import { actuatorSchema } from '../../src/config/schema/actuators.ts';
import { rpcSchema } from '../../src/config/schema/rpc.ts';
import { linuxPorts } from '../../src/hardware/linux-ports.ts';
import { systemClock } from '../../src/host/clock.ts';
import { runProgram } from '../../src/host/run-program.ts';
import { lineMethods } from '../../src/rpc/line-methods.ts';
import { open as openSerialLine } from '../../src/sensors/serial-line/driver.ts';
import { PtyWire } from '../../src/stand-ins/simulated-board/serial-wire.ts';
import { until } from '../support/board-bench.ts';
import { sensorConfig, sensorDeps } from '../support/sensor-bench.ts';
import { openSharedLine, QUERY, SharedLine, SLEEP, WORK } from '../support/shared-line.ts';

/** Ten minutes of it are run by hand: `SHARED_LINE_MS=600000`. */
const RUN_MS = Number(process.env.SHARED_LINE_MS ?? 4_000);
const never = new AbortController().signal;
const CHANNELS = [1, 2, 3, 4, 5, 6, 7, 8];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-lines-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Draws that are the same in each run (mulberry32). */
function draws(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Command of a relay board of LCTech's kind, with the sum of its bytes. */
function relayHex(channel: number, state: 0 | 1): string {
  return Buffer.from([0xa0, channel, state, (0xa0 + channel + state) & 0xff]).toString('hex');
}

async function relay(
  port: string,
  channel: number,
  { ports, answerWithin }: { readonly ports: object; readonly answerWithin: string },
): Promise<ActuatorDriver> {
  const config = actuatorSchema.parse({
    name: `relay${channel}`,
    kind: 'serial-write',
    port,
    sendHex: { on: relayHex(channel, 1), off: relayHex(channel, 0) },
    expect: '^OK',
    replyTimeout: answerWithin,
  });
  return await opener(config as never, { ports, clock: systemClock, runProgram } as never)(never);
}

describe.each(['pty', 'tcp'])('a relay board, a scale and a dust sensor on one line over %s', (way) => {
  it.each([{ mute: 0 }, { mute: 0.05 }])(
    'lose and double no command, and get no answer that is not theirs: %o',
    async ({ mute }) => {
      const draw = draws(way === 'pty' ? 1 : 2);
      const line = new SharedLine(draw, { mute });
      // Where every answer comes, a busy machine may take its time.
      const answerWithin = mute === 0 ? '4s' : '1s';
      const place = await openSharedLine(line, way === 'pty' ? { path: join(folder, 'yard') } : {});
      const { port } = place;
      const ports = linuxPorts(systemClock, 'sysfs');
      const deps = sensorDeps({ ports, folder });
      const scaleConfig = sensorConfig({
        name: 'scale',
        kind: 'serial-line',
        port,
        request: 'S\r\n',
        format: 'regex',
        pattern: '^S S +(?<weight>[0-9.]+) g',
        responseTimeout: answerWithin,
        deadline: '10s',
        period: '20s',
      });
      const dustConfig = sensorConfig({
        name: 'dust',
        kind: 'serial-line',
        port,
        requestHex: QUERY,
        frame: { start: 'aa c0', length: 10 },
        check: { kind: 'sum8', from: 2, at: -2 },
        fields: { pm25: { at: 2, order: 'little' } },
        before: [{ sendHex: WORK, pause: '60ms' }],
        after: [{ sendHex: SLEEP }],
        responseTimeout: answerWithin,
        deadline: '10s',
        period: '20s',
      });
      const [scale, dust] = await Promise.all([
        openSerialLine(scaleConfig, deps, never),
        openSerialLine(dustConfig, deps, never),
      ]);
      const relays = await Promise.all(CHANNELS.map((channel) => relay(port, channel, { ports, answerWithin })));
      const { methods } = rpcSchema.parse({
        methods: { tare: { sensor: 'scale', send: 'T\r\n', expect: '^T', deadline: '8s' } },
      });
      const [tare] = lineMethods(methods, [scaleConfig], { clock: systemClock, ports });
      const wanted = CHANNELS.map(() => [] as string[]);
      let tares = 0;
      const readings = { scale: 0, dust: 0, missing: 0 };
      const wrong: unknown[] = [];
      const untilMs = Date.now() + RUN_MS;
      const isMissing = (error: { readonly message?: string }): void => {
        if (mute === 0) wrong.push(error.message);
        readings.missing += 1;
      };
      /** Called for what has given up in the queue of a busy line: it was never told. */
      const isNotTold = (error: { readonly code?: string; readonly message?: string }): void => {
        if (error.code === 'hardware/deadline') tares -= 1;
        isMissing(error);
      };
      const switching = relays.map(async (one, at) => {
        while (Date.now() < untilMs) {
          const isOn = draw() < 0.5;
          wanted[at]?.push(`${at + 1} ${isOn ? 'on' : 'off'}`);
          await one.write(isOn, never).catch(isMissing);
          await pause(draw() * 3_000);
        }
      });
      const taring = (async () => {
        while (Date.now() < untilMs) {
          tares += 1;
          await Promise.resolve(tare?.run({}, { asker: 'platform', note: undefined, signal: never })).then((answer) => {
            if (JSON.stringify(answer) !== '{"sent":true,"answer":"T S      0.00 g"}') wrong.push(answer);
          }, isNotTold);
          await pause(draw() * 700);
        }
      })();
      const reading = (['scale', 'dust'] as const).map(async (name) => {
        const [sensor, given] = name === 'scale' ? [scale, line.weights] : [dust, line.dusts];
        let last = 0;
        while (Date.now() < untilMs || readings[name] === 0) {
          await sensor.read(never).then((values) => {
            const value = Number(values[0]?.value);
            // Each value is given once, and in order: an earlier one would be an answer to an earlier question.
            if (values.length !== 1 || !given.has(value) || value <= last || value !== [...given].at(-1))
              wrong.push(values);
            last = value;
            readings[name] += 1;
          }, isMissing);
          await pause(draw() * 100);
        }
      });
      await Promise.all([...switching, taring, ...reading]);
      await Promise.all([scale.close(), dust.close(), ...relays.map((one) => one.close())]);
      // What was written last is still on its way through the terminal.
      await until('the dust sensor asleep', () => !line.isDustAwake);
      await ports.close();
      place.close();
      expect(wrong).toEqual([]);
      for (const channel of CHANNELS)
        expect(line.told.filter((told) => told.startsWith(`${channel} `))).toEqual(wanted[channel - 1]);
      expect(line.told.filter((told) => told === 'tare')).toHaveLength(tares);
      expect([line.collisions, line.isDustAwake]).toEqual([0, false]);
      expect([readings.scale > 0, readings.dust > 0, tares > 0]).toEqual([true, true, true]);
      if (RUN_MS > 60_000) console.log({ way, mute, commands: line.told.length, tares, readings });
    },
    4 * RUN_MS + 20_000,
  );
});

describe('relay boards of two makers', () => {
  it.each([
    ['LCTech, by bytes', { sendHex: { on: 'A0 01 01 A2', off: 'A0 01 00 A1' } }, ['a00101a2', 'a00100a1']],
    [
      'Numato, by words, with a prompt behind them',
      { send: { on: 'relay on 0\r', off: 'relay off 0\r' }, expect: '>$' },
      ['72656c6179206f6e20300d', '72656c6179206f666620300d'],
    ],
    [
      'Denkovi, by words that it repeats',
      { send: { on: '01+//', off: '01-//' }, expect: '^01[+-]//' },
      ['30312b2f2f', '30312d2f2f'],
    ],
  ])('%s', async (_maker, options, told) => {
    const heard: string[] = [];
    const wire = new PtyWire(join(folder, 'board'), (bytes) => {
      heard.push(Buffer.from(bytes).toString('hex'));
      if ('expect' in options)
        wire.send(Buffer.concat([Buffer.from(bytes), Buffer.from(options.expect === '>$' ? '\n>' : '')]));
    });
    const ports = linuxPorts(systemClock, 'sysfs');
    const config = actuatorSchema.parse({ name: 'relay', kind: 'serial-write', port: wire.device, ...options });
    const driver = await opener(config as never, { ports, clock: systemClock, runProgram } as never)(never);
    await driver.write(true, never);
    await until('the command', () => heard.length > 0);
    await driver.write(false, never);
    await until('both commands', () => heard.join('') === told.join(''));
    await driver.close();
    await ports.close();
    wire.close();
    expect(heard.join('')).toBe(told.join(''));
  });
});

/** Frames of both are closed by the sum of bytes. */
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

describe('dust sensors of two makers, which sleep between two readings', () => {
  it.each([
    [
      'Nova SDS011',
      {
        frame: { start: 'AA C0', length: 10 },
        check: { kind: 'sum8', from: 2, at: -2 },
        fields: { pm2_5: { at: 2, order: 'little', scale: 0.1 }, pm10: { at: 4, order: 'little', scale: 0.1 } },
        requestHex: QUERY,
        before: [{ sendHex: WORK, pause: '50ms' }],
        after: [{ sendHex: SLEEP }],
      },
      { [QUERY]: 'AA C0 7B 00 C8 00 11 22 76 AB' },
      [WORK, QUERY, SLEEP],
      { pm2_5: 12.3, pm10: 20 },
    ],
    [
      'Plantower PMS5003',
      {
        frame: { start: '42 4D 00 1C', length: 32 },
        check: 'sum16',
        fields: { pm1: { at: 10 }, pm2_5: { at: 12 }, pm10: { at: 14 } },
        requestHex: '42 4D E2 00 00 01 71',
        before: [{ sendHex: '42 4D E4 00 01 01 74', pause: '50ms' }],
        after: [{ sendHex: '42 4D E4 00 00 01 73' }],
      },
      {
        '424de200000171':
          '42 4D 00 1C 00 05 00 07 00 08 00 05 00 07 00 08 03 A2 01 0E 00 2C 00 02 00 01 00 00 97 00 02 4D',
      },
      ['424de400010174', '424de200000171', '424de400000173'],
      { pm1: 5, pm2_5: 7, pm10: 8 },
    ],
  ] as const)('%s', async (_maker, options, answers, wanted, values) => {
    const heard: string[] = [];
    const wire = new PtyWire(join(folder, 'dust'), (bytes) => {
      heard.push(Buffer.from(bytes).toString('hex'));
      const asked = Object.entries(answers).find(([request]) => heard.join('').endsWith(request));
      if (asked !== undefined) wire.send(hex(asked[1]));
    });
    const ports = linuxPorts(systemClock, 'sysfs');
    const config = sensorConfig({ name: 'dust', kind: 'serial-line', port: wire.device, period: '20s', ...options });
    const sensor = await openSerialLine(config, sensorDeps({ ports, folder }), never);
    const readings = await sensor.read(never);
    expect(Object.fromEntries(readings.map(({ key, value }) => [key, value]))).toMatchObject(values);
    await until('that it sleeps', () => heard.join('') === wanted.join(''));
    await sensor.close();
    await ports.close();
    wire.close();
  });
});

describe('scales of two makers, which are set to zero by a method', () => {
  it.each([
    [
      'Mettler Toledo, with an answer of its own',
      { request: 'SI\r\n', format: 'regex', pattern: '^S S +(?<weight>-?[0-9.]+) g' },
      { send: 'T\r\n', expect: '^T S +[0-9.]+ g$' },
      { 'SI\r\n': 'S S     12.50 g\r\n', 'T\r\n': 'T S     12.50 g\r\n' },
      { sent: true, answer: 'T S     12.50 g' },
    ],
    [
      'Kern, which says nothing to it',
      { request: 'w', format: 'regex', pattern: '(?<weight>-?[0-9.]+) g' },
      { send: 't' },
      { w: '     12.50 g \r\n' },
      { sent: true },
    ],
  ] as const)('%s', async (_maker, options, method, answers, wanted) => {
    const heard: string[] = [];
    const wire = new PtyWire(join(folder, 'scale'), (bytes) => {
      heard.push(Buffer.from(bytes).toString());
      const asked = Object.entries(answers).find(([request]) => request === heard.at(-1));
      if (asked !== undefined) wire.send(Buffer.from(asked[1]));
    });
    const ports = linuxPorts(systemClock, 'sysfs');
    const config = sensorConfig({ name: 'scale', kind: 'serial-line', port: wire.device, period: '20s', ...options });
    const sensor = await openSerialLine(config, sensorDeps({ ports, folder }), never);
    const { methods } = rpcSchema.parse({ methods: { tare: Object.assign({ sensor: 'scale' }, method) } });
    const [tare] = lineMethods(methods, [config], { clock: systemClock, ports });
    const weight = async (): Promise<unknown> => (await sensor.read(never)).find(({ key }) => key === 'weight')?.value;
    expect(await weight()).toBe(12.5);
    expect(await tare?.run({}, { asker: 'platform', note: undefined, signal: never })).toEqual(wanted);
    await until('the command', () => heard.includes(method.send));
    expect(await weight()).toBe(12.5);
    await sensor.close();
    await ports.close();
    wire.close();
  });
});

it('a port whose driver cannot turn an RS-485 line round says so', async () => {
  const wire = new PtyWire(join(folder, 'uart'), () => {});
  const ports = linuxPorts(systemClock, 'sysfs');
  const rs485 = { rtsOnSend: true, rtsAfterSend: false, delayBeforeMs: 0, delayAfterMs: 1, receiveWhileSending: false };
  await expect(ports.serialBuses.open({ port: wire.device, baudRate: 9_600, rs485 }, never)).rejects.toMatchObject({
    code: 'hardware/serial-no-rs485',
    recovery: 'retry',
    message: expect.stringContaining('does not turn an RS-485 line round'),
  });
  await ports.close();
  wire.close();
});
