/** How lines are chosen and opened over sysfs, with a twin of onoff that remembers; the lab and test/contract run the real ones. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BinaryValue, Gpio, Options } from 'onoff';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Level } from '../../../src/hardware/gpio-port.ts';
import { type GpioInterface, LinuxGpio } from '../../../src/hardware/linux-gpio.ts';
import { systemClock } from '../../../src/host/clock.ts';

const { signal } = new AbortController();
let folder = '';
/** Calls to onoff, and what it shall do. */
let asked: string[];
let failure: NodeJS.ErrnoException | undefined;
let shownDirection: string | undefined;
/** Ends what hangs, in the order in which it began; undefined while the lines answer at once. */
let hanging: (() => void)[] | undefined;

class OnoffTwin {
  readonly _valueFd = -1;
  readonly #direction: string;
  #level: BinaryValue = 0;

  constructor(number: number, direction: string, edge: string, options: Options) {
    asked.push(`${number} ${direction} ${edge} ${JSON.stringify(options)}`);
    if (failure !== undefined) throw failure;
    this.#direction = direction === 'in' ? 'in' : 'out';
  }
  direction(): string {
    return shownDirection ?? this.#direction;
  }
  async read(): Promise<BinaryValue> {
    await this.#answer('read');
    return this.#level;
  }
  async write(level: BinaryValue): Promise<void> {
    await this.#answer(`write ${level}`);
    this.#level = level;
  }
  async #answer(call: string): Promise<void> {
    if (hanging === undefined) return;
    asked.push(call);
    await new Promise<void>((resolve) => hanging?.push(resolve));
  }
  watch(callback: (error: Error | null, level: Level) => void): void {
    callback(null, 1);
  }
  unwatch(): void {}
  unexport(): void {
    asked.push('unexport');
  }
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-gpio-'));
  asked = [];
  failure = undefined;
  shownDirection = undefined;
  hanging = undefined;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function machine(
  options: { readonly sysfs?: boolean; readonly through?: GpioInterface } = {},
): Promise<LinuxGpio> {
  if (options.sysfs !== false) {
    await mkdir(join(folder, 'gpiochip512'));
    for (const [file, text] of Object.entries({ label: 'pinctrl-bcm2711', base: '512', ngpio: '58' }))
      await writeFile(join(folder, 'gpiochip512', file), `${text}\n`);
    await writeFile(join(folder, 'export'), '');
  }
  return new LinuxGpio({
    clock: systemClock,
    interface: options.through ?? 'sysfs',
    classFolder: folder,
    deviceFolder: join(folder, 'no-dev'),
    loadOnoff: async () => ({ Gpio: OnoffTwin as unknown as typeof Gpio }),
  });
}

describe('LinuxGpio over sysfs', () => {
  it('gives onoff the number of this kernel, never that of the pin header', async () => {
    const gpio = await machine();
    const input = await gpio.openInput({ line: 'GPIO17', activeLow: true, edges: 'both' }, signal);
    expect(asked).toEqual(['529 in both {"activeLow":true,"debounceTimeout":0}']);
    const levels: Level[] = [];
    input.watch(({ level }) => levels.push(level));
    expect(levels).toEqual([1]);
    await input.close();
    await input.close();
    expect(asked.filter((call) => call === 'unexport')).toHaveLength(1);
    input.watch(({ level }) => levels.push(level));
    expect(levels).toEqual([1]);
  });

  it('waits with every line of a chip that hangs, opened anew or not, so that it holds one thread of the pool', async () => {
    const gpio = await machine();
    const other = await gpio.openInput({ line: 'GPIO5' }, signal);
    asked = [];
    hanging = [];
    const inTime = { code: 'hardware/deadline', recovery: 'retry' };
    const input = await gpio.openInput({ line: 'GPIO4' }, signal);
    await expect(input.read(AbortSignal.timeout(10))).rejects.toMatchObject(inTime);
    const closed = input.close();
    await expect(gpio.openInput({ line: 'GPIO4' }, AbortSignal.timeout(10))).rejects.toMatchObject(inTime);
    await expect(gpio.openOutput({ line: 'GPIO6', initial: 0 }, AbortSignal.timeout(10))).rejects.toMatchObject(inTime);
    await expect(other.read(AbortSignal.timeout(10))).rejects.toMatchObject(inTime);
    expect(asked.slice(1)).toEqual(['read']);
    hanging[0]?.();
    await closed;
    await gpio.openInput({ line: 'GPIO4' }, signal);
    expect(asked.slice(1).map((call) => call.split(' ')[0])).toEqual(['read', 'unexport', '516']);
  });

  it('switches off before what else its chip is asked for', async () => {
    const gpio = await machine();
    const output = await gpio.openOutput({ line: 'GPIO4', initial: 0 }, signal);
    asked = [];
    hanging = [];
    const all = [output.read(signal), output.write(1, signal), output.read(signal), output.write(0, signal)];
    for (let at = 0; at < all.length; at += 1) {
      hanging[at]?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    expect(asked).toEqual(['read', 'write 0', 'write 1', 'read']);
  });

  it('makes the first level physical, because the kernel takes it so whatever active_low says', async () => {
    const gpio = await machine();
    for (const [line, initial, activeLow] of [
      ['GPIO4', 1, false],
      ['GPIO5', 1, true],
      ['GPIO6', 0, true],
    ] as const)
      await gpio.openOutput({ line, initial, activeLow }, signal);
    expect(asked.map((call) => call.split(' ')[1])).toEqual(['high', 'low', 'high']);
  });

  it('leaves an output as it is when it is to be kept, and makes an input inactive', async () => {
    const gpio = await machine();
    await gpio.openOutput({ line: 'GPIO4', initial: 'keep', activeLow: true }, signal);
    expect(asked).toEqual(['516 high none {"activeLow":true,"reconfigureDirection":false}']);
  });

  it('says so when a line stays what it was, which onoff passes over', async () => {
    const gpio = await machine();
    shownDirection = 'in';
    await expect(gpio.openOutput({ line: 'GPIO4', initial: 1 }, signal)).rejects.toThrow(
      /line 4 of pinctrl-bcm2711 cannot be made an output/,
    );
  });

  it('tells a busy line from a forbidden one, with the group to join', async () => {
    const gpio = await machine();
    failure = Object.assign(new Error('EBUSY'), { code: 'EBUSY' });
    await expect(gpio.openOutput({ line: 'GPIO4', initial: 1 }, signal)).rejects.toMatchObject({
      code: 'hardware/gpio-busy',
      recovery: 'retry',
    });
    failure = Object.assign(new Error('EACCES'), { code: 'EACCES' });
    await expect(gpio.openOutput({ line: 'GPIO4', initial: 1 }, signal)).rejects.toThrow(/must be in group gpio/);
    failure = Object.assign(new Error('EROFS'), { code: 'EROFS' });
    await expect(gpio.openOutput({ line: 'GPIO4', initial: 1 }, signal)).rejects.toThrow(/read-only for this service/);
    failure = Object.assign(new Error('EINVAL'), { code: 'EINVAL' });
    await expect(gpio.openInput({ line: 'GPIO4' }, signal)).rejects.toThrow(
      /opening GPIO line 4 of pinctrl-bcm2711 \(EINVAL\)/,
    );
  });

  it('refuses a line that it holds itself, which onoff would take over, and gives it again when it is closed', async () => {
    const gpio = await machine();
    const held = await gpio.openInput({ line: 'GPIO4' }, signal);
    await expect(gpio.openInput({ line: { chip: 'pinctrl-bcm2711', offset: 4 } }, signal)).rejects.toThrow(
      /held by turnstone itself/,
    );
    await held.close();
    await (await gpio.openInput({ line: 'GPIO4' }, signal)).close();
  });

  it('names what only the character device can do', async () => {
    const gpio = await machine({ through: 'sysfs' });
    await expect(gpio.openInput({ line: 'GPIO4', bias: 'pull-up' }, signal)).rejects.toMatchObject({
      code: 'hardware/unsupported',
      recovery: 'hold',
    });
    await expect(gpio.openOutput({ line: 'GPIO4', initial: 0, drive: 'open-drain' }, signal)).rejects.toThrow(
      /drive open-drain on line 4 .* needs the character device/,
    );
    expect(asked).toEqual([]);
  });

  it('lists the lines of the chips it sees', async () => {
    const lines = await (await machine()).list(signal);
    expect(lines).toHaveLength(58);
    expect(lines[17]).toEqual({ chip: 'gpiochip512', label: 'pinctrl-bcm2711', offset: 17 });
  });
});

describe('LinuxGpio on a machine without GPIO', () => {
  it('says so', async () => {
    for (const through of ['auto', 'sysfs', 'character-device'] as const) {
      const gpio = await machine({ sysfs: false, through });
      await expect(gpio.openInput({ line: 'GPIO17' }, signal)).rejects.toMatchObject({
        code: 'hardware/gpio-no-chip',
        recovery: 'retry',
      });
      expect(await gpio.list(signal)).toEqual([]);
    }
  });
});
