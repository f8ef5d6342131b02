import { chmod, mkdtemp, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { forRandomBytes } from '../../../test/support/random-bytes.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { AgentError } from '../../errors/agent-error.ts';
import type { Ports } from '../../hardware/ports.ts';
import { AgentLog, silentLog } from '../../host/log.ts';
import { sendableKey } from '../../platform/wire-values.ts';
import { createSensor } from '../create-sensor.ts';
import type { Sensor } from '../kind/sensor.ts';
import { checkReadings, open as openModule } from './driver.ts';

const { signal } = new AbortController();
let folder = '';
const deps = () => sensorDeps({ ports: {} as never as Ports as never, folder });
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-programs-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a module', () => {
  const write = async (text: string): Promise<string> => {
    const file = join(folder, 'driver.mjs');
    await writeFile(file, text);
    await chmod(file, 0o644);
    return file;
  };
  const opened: Sensor[] = [];
  const openWith = async (...given: Parameters<typeof openModule>): Promise<Sensor> => {
    const sensor = await openModule(...given);
    opened.push(sensor);
    return sensor;
  };
  const open = async (text: string, options: Readonly<Record<string, unknown>> = {}) =>
    await openWith(sensorConfig({ name: 'tank', kind: 'module', file: await write(text), options }), deps(), signal);
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((sensor) => sensor.close()));
  });

  it('is given its options and gives readings', async () => {
    const sensor = await open(
      'export async function openSensor({ name, options }) { return { read: async () => [{ key: name, value: options.height * 2, unit: "m" }] }; }',
      { height: 1.5 },
    );
    expect(await sensor.read(signal)).toEqual([{ key: 'tank', value: 3, unit: 'm' }]);
    await sensor.close();
  });

  it('can ask the platform, and is told when there is none', async () => {
    const text = `export async function openSensor({ clientRpc }) {
      return { read: async (signal) => [{ key: 'limit', value: (await clientRpc('getLimit', { tank: 1 }, signal)).limit }] };
    }`;
    const asked: unknown[] = [];
    const clientRpc = async (method: string, params: unknown) => {
      asked.push([method, params]);
      return { limit: 7 };
    };
    const config = sensorConfig({ name: 'tank', kind: 'module', file: await write(text), options: {} });
    expect(await (await openWith(config, { ...deps(), clientRpc }, signal)).read(signal)).toEqual([
      { key: 'limit', value: 7 },
    ]);
    expect(asked).toEqual([['getLimit', { tank: 1 }]]);
    await expect((await openWith(config, deps(), signal)).read(signal)).rejects.toThrow(/no platform to ask/);
  });

  it('can speak by itself', async () => {
    const sensor = await open(
      'export const openSensor = async () => ({ speaksByItself: true, read: async () => [], subscribe: (say) => { const t = setTimeout(() => say([{ key: "x", value: 1 }]), 5); return () => clearTimeout(t); } });',
    );
    expect(await new Promise((resolve) => sensor.subscribe?.(resolve))).toEqual([{ key: 'x', value: 1 }]);
    expect(sensor.speaksByItself).toBe(true);
  });

  it('fails as a sensor does, whatever is wrong with it', async () => {
    await expect(open('export const other = 1;')).rejects.toThrow(/exports no function openSensor/);
    await expect(open('syntax error here')).rejects.toMatchObject({ code: 'sensors/module-failed', recovery: 'retry' });
    await expect(open('export async function openSensor() { throw new Error("no bus"); }')).rejects.toThrow(
      /driver.mjs: no bus/,
    );
    await expect(
      (await open('export const openSensor = async () => ({ read: async () => { throw null; } });')).read(signal),
    ).rejects.toMatchObject({ code: 'sensors/module-failed' });
    await expect(
      (await open('export const openSensor = async () => ({ read: async () => 5 });')).read(signal),
    ).rejects.toThrow(/no list of readings/);
  });

  it('is not loaded when others may write it', async () => {
    const file = await write('export const openSensor = async () => ({ read: async () => [] });');
    await chmod(file, 0o666);
    await expect(openModule(sensorConfig({ name: 'tank', kind: 'module', file }), deps(), signal)).rejects.toThrow(
      /only its owner may write it/,
    );
  });

  it('is taken up anew when it has changed', async () => {
    const first = await open('export const openSensor = async () => ({ read: async () => [{ key: "v", value: 1 }] });');
    await new Promise((resolve) => setTimeout(resolve, 20));
    const second = await open(
      'export const openSensor = async () => ({ read: async () => [{ key: "v", value: 2 }] });',
    );
    expect([await first.read(signal), await second.read(signal)]).toMatchObject([[{ value: 1 }], [{ value: 2 }]]);
  });

  it('that stands still is killed, and opened anew it works', async () => {
    const text = `export const openSensor = async ({ options }) => ({
      read: async () => { if (options.stands) for (;;) {} return [{ key: 'pid', value: process.pid }]; },
    });`;
    const standing = await open(text, { stands: true });
    await expect(standing.read(AbortSignal.timeout(200))).rejects.toThrow(
      /stood still for 2 s after its deadline, and its process was killed/,
    );
    await expect(standing.read(signal)).rejects.toMatchObject({ code: 'sensors/module-failed', recovery: 'retry' });
    const [reading] = await (await open(text)).read(signal);
    expect(reading?.value).not.toBe(process.pid);
  });

  it.each([
    ['process.exit(3)', 'its process ended with exit code 3'],
    ["process.kill(process.pid, 'SIGSEGV'); await new Promise(() => {})", 'its process was ended by SIGSEGV'],
  ])('whose process ends by %s says how it ended', async (end, words) => {
    const sensor = await open(`export const openSensor = async () => ({ read: async () => { ${end}; } });`);
    await expect(sensor.read(signal)).rejects.toThrow(words);
    await expect(sensor.read(signal)).rejects.toThrow(words);
    const opening = `export const openSensor = async () => { ${end}; };`;
    await expect(open(opening)).rejects.toThrow(words);
  });

  it('that waits for something is not killed at its deadline', async () => {
    const sensor = await open(`let reads = 0; export const openSensor = async () => ({
      read: (signal) => (reads += 1) > 1 ? [{ key: 'reads', value: reads }] : new Promise((_, reject) => signal.onabort = () => reject(new Error('too late'))),
    });`);
    await expect(sensor.read(AbortSignal.timeout(200))).rejects.toThrow(/too late/);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(await sensor.read(signal)).toEqual([{ key: 'reads', value: 2 }]);
  });

  it('reaches buses and ports through the agent, and none of its secrets', async () => {
    const told: unknown[] = [];
    let bring: (bytes: Uint8Array) => void = () => {};
    const port = {
      path: '/dev/ttyS0',
      plugged: true,
      onPlug: () => () => {},
      write: async (bytes: Uint8Array) => void told.push(Buffer.from(bytes).toString()),
      onBytes: (listener: typeof bring) => {
        bring = listener;
        return () => void told.push('ended');
      },
      close: async () => void told.push('closed'),
    };
    const bus = {
      name: 'i2c-1',
      readWord: async (address: number, register: number) => address * 256 + register,
      readRegisters: async () => Uint8Array.of(1, 2, 3),
      close: async () => {},
    };
    const fails = async (): Promise<never> => {
      throw new AgentError('hardware/no-permission', 'not allowed', { recovery: 'hold' });
    };
    const ports = {
      i2c: { openBus: async () => bus, close: fails },
      serial: { open: async () => port, close: fails },
      gpio: { openInput: fails },
    };
    const file = await write(`export const openSensor = async ({ ports, log }, signal) => {
      const bus = await ports.i2c.openBus(1, signal);
      const port = await ports.serial.open({ port: '/dev/ttyS0', baudRate: 9600 }, signal);
      const line = await ports.gpio.openInput({ line: 'GPIO4' }, signal).catch((error) => error.code);
      let heard = '';
      const end = port.onBytes((bytes) => { heard += Buffer.from(bytes).toString('hex'); });
      await port.write(Buffer.from('ping'), signal);
      log.info({ line }, 'opened');
      return {
        read: async (inner) => [
          { key: 'word', value: await bus.readWord(0x48, 7, inner) },
          { key: 'bytes', value: (await bus.readRegisters(0, 0, 3, inner)).length },
          { key: 'heard', value: heard },
          { key: 'line', value: line },
          { key: 'plugged', value: port.plugged },
          { key: 'secrets', value: Object.keys(process.env).filter((name) => !['PATH', 'LANG', 'TZ'].includes(name)).join() },
          { key: 'closesAll', value: String(ports.i2c.close) },
        ],
        close: async () => { end(); await port.close(); },
      };
    };`);
    const config = sensorConfig({ name: 'tank', kind: 'module', file, options: {} });
    const sensor = await openModule(config, { ...deps(), ports: ports as never as Ports }, signal);
    bring(Uint8Array.of(0xfe, 0x01));
    await expect.poll(async () => (await sensor.read(signal)).find(({ key }) => key === 'heard')?.value).toBe('fe01');
    expect(Object.fromEntries((await sensor.read(signal)).map(({ key, value }) => [key, value]))).toEqual({
      word: 0x48 * 256 + 7,
      bytes: 3,
      heard: 'fe01',
      line: 'hardware/no-permission',
      plugged: true,
      secrets: '',
      closesAll: 'undefined',
    });
    await sensor.close();
    expect(told).toEqual(expect.arrayContaining(['ping', 'closed']));
  });

  describe('that holds a line, of which there is one', () => {
    let held = 0;
    let watches = 0;
    const openInput = async () => {
      if (held > 0) throw new AgentError('hardware/line-busy', 'the line is held', { recovery: 'retry' });
      held += 1;
      watches += 1;
      return {
        watch: () => () => {
          watches -= 1;
        },
        read: async () => 1,
        close: async () => {
          held -= 1;
        },
      };
    };
    const openHolder = async (body: string) =>
      await openWith(
        sensorConfig({ name: 'tank', kind: 'module', file: await write(body), options: {} }),
        { ...deps(), ports: { gpio: { openInput } } as never as Ports },
        signal,
      );
    beforeEach(() => {
      held = 0;
      watches = 0;
    });

    it.each([
      ['stands still', 'for (;;) {}'],
      ['ends by itself', 'process.exit(0)'],
      ['loses a promise', 'void Promise.reject(new Error("astray")); return new Promise(() => {});'],
    ])('gives it back when it %s', async (_what, body) => {
      const text = `export const openSensor = async ({ ports }, signal) => {
        const line = await ports.gpio.openInput({ line: 'GPIO4' }, signal);
        return { read: async () => { ${body} } };
      };`;
      await expect((await openHolder(text)).read(AbortSignal.timeout(200))).rejects.toMatchObject({
        code: 'sensors/module-failed',
      });
      await expect.poll(() => held).toBe(0);
      await openHolder(text);
      expect(held).toBe(1);
    });

    it('gives it back when it does not close it, and when it fails to open', async () => {
      const opens = `const line = await ports.gpio.openInput({ line: 'GPIO4' }, signal);`;
      await (
        await openHolder(
          `export const openSensor = async ({ ports }, signal) => { ${opens} return { read: async () => [] }; };`,
        )
      ).close();
      expect(held).toBe(0);
      const failing = openHolder(
        `export const openSensor = async ({ ports }, signal) => { ${opens} throw new Error('no chip'); };`,
      );
      await expect(failing).rejects.toThrow(/no chip/);
      expect(held).toBe(0);
    });

    it('may open and watch it anew with every read, a thousand times and more', async () => {
      const sensor = await openHolder(`export const openSensor = async ({ ports }) => ({ read: async (signal) => {
        for (let n = 0; n < 1100; n += 1) {
          const line = await ports.gpio.openInput({ line: 'GPIO4' }, signal);
          line.watch(() => {});
          await line.close();
        }
        return [{ key: 'level', value: 1 }];
      } });`);
      expect(await sensor.read(signal)).toEqual([{ key: 'level', value: 1 }]);
      expect([held, watches]).toEqual([0, 0]);
    });
  });

  it('that speaks without end fills no log, whatever its words, and is not ended by it', async () => {
    const lines: string[] = [];
    const log = new AgentLog({
      level: 'info',
      clock: new FakeClock(),
      sink: { write: (line) => void lines.push(line) },
    });
    const file = await write(`export const openSensor = async ({ log }) => ({ read: async () => {
      for (let n = 0; n < 1000; n += 1) log.warn({ n: 2n ** 60n }, 'line ' + n);
      return [{ key: 'lines', value: 1000 }];
    } });`);
    const sensor = await openWith(
      sensorConfig({ name: 'tank', kind: 'module', file, options: {} }),
      { ...deps(), log },
      signal,
    );
    for (let n = 0; n < 3; n += 1) expect(await sensor.read(signal)).toEqual([{ key: 'lines', value: 1000 }]);
    expect(lines).toHaveLength(20);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      msg: 'the driver of tank says',
      said: 'line 0',
      fields: '{"n":1152921504606846976}',
    });
  });

  it('prints into the log, and has no file of the agent but the way to it', async () => {
    const said: string[] = [];
    const log = { ...silentLog, info: ({ said: words = '' }: { said?: string }) => void said.push(words) };
    const file = await write(`import { readdirSync, readlinkSync, fstatSync } from 'node:fs';
      export const openSensor = async () => ({ read: async () => {
        console.log('on its output'); console.error('x'.repeat(5000));
        const isFile = (fd) => { try { return fstatSync(Number(fd)).isFile() || fstatSync(Number(fd)).isCharacterDevice(); } catch { return false; } };
        const links = readdirSync('/proc/self/fd').filter(isFile).map((fd) => readlinkSync('/proc/self/fd/' + fd));
        return [{ key: 'files', value: links.filter((one) => one !== '/dev/null').join() }, { key: 'error', value: readlinkSync('/proc/self/fd/2') }];
      } });`);
    const config = sensorConfig({ name: 'tank', kind: 'module', file, options: {} });
    const sensor = await openWith(config, { ...deps(), log }, signal);
    const [files, error] = await sensor.read(signal);
    expect(files?.value).toBe('');
    expect(error?.value).not.toBe(await readlink('/proc/self/fd/2'));
    await expect.poll(() => said.toSorted()).toEqual(['on its output', 'x'.repeat(500)]);
  });

  it('gives all that is good of a read in which something is not, and says once what was left out', () => {
    const problems: string[] = [];
    const list = [
      { key: 'level', value: 1.5 },
      { key: '<b>{{x}}</b>', value: 2, takenAtMs: -1 },
      { key: 'nothing', value: undefined },
      { key: 'none', value: Number.NaN },
      { key: 5, value: 1 },
      { key: '', value: 1 },
      null,
      { key: 'work', value: () => {} },
      { key: 'long', value: 9_007_199_254_740_993n },
    ];
    expect(checkReadings(list, 'driver', (problem) => problems.push(problem))).toEqual([
      { key: 'level', value: 1.5 },
      { key: '<b>{{x}}</b>', value: 2, takenAtMs: -1 },
      { key: 'long', value: 9_007_199_254_740_993n },
    ]);
    expect(problems).toHaveLength(6);
    expect(() => checkReadings([{ key: 'none', value: null }], 'driver')).toThrow(
      /driver: no value for "none": null is not stored/,
    );
    expect(checkReadings([], 'driver')).toEqual([]);
  });

  it('speaks under the names that the platform keeps, whether it is asked or speaks by itself', async () => {
    const file = await write(`export const openSensor = async () => ({
      read: async () => [{ key: 'level', value: 1 }, { key: '{{deep}}', value: 2 }, { key: 'broken', value: NaN }],
      subscribe: (say) => { say([{ key: '<b>', value: 3 }]); return () => {}; },
    });`);
    const config = sensorConfig({ name: 'tank', kind: 'module', file });
    const sensor = await createSensor(config, deps(), signal);
    expect(await sensor.read(signal)).toEqual([
      { key: 'level', value: 1 },
      { key: sendableKey('{{deep}}'), value: 2 },
    ]);
    const said: unknown[] = [];
    sensor.subscribe?.((readings) => said.push(...readings));
    await expect.poll(() => said).toEqual([{ key: sendableKey('<b>'), value: 3 }]);
    await sensor.close();
  });

  it('cannot put anything but readings into the outbox', () => {
    forRandomBytes(20_000, 8, (bytes, random) => {
      const odd: unknown[] = [
        null,
        undefined,
        Number.NaN,
        {},
        [],
        '',
        bytes.toString('latin1'),
        5,
        true,
        { key: bytes.toString('latin1'), value: random() < 0.5 ? Number.NaN : 1 },
        { key: 'ok', value: undefined },
      ];
      const readings = checkReadings([odd[Math.floor(random() * odd.length)]], 'driver');
      for (const { key, value } of readings)
        if (key === '' || value === undefined || value === null) throw new Error('it got through');
    });
  });
});
