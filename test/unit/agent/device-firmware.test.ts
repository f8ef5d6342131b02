/** Packages for attached devices: each takes its own, tells of it as its own, and has it installed by the command that its handler names. */
import { createHash } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DevicesBench } from '../../support/devices-bench.ts';

const HANDLER = {
  title: 'pump',
  program: '/usr/local/bin/flash',
  arguments: ['{device}', '{file}', '{title}', '{version}'],
  timeout: '1h',
};
const CONFIG = {
  firmware: {
    requireSignature: false,
    chunk: '4kB',
    handlers: [
      HANDLER,
      { ...HANDLER, title: 'board' },
      { ...HANDLER, title: 'tool', package: 'software', arguments: ['{file}'] },
    ],
  },
  devices: [
    { name: 'one', firmware: { handlers: ['pump'] } },
    { name: 'two', firmware: { handlers: ['pump'] } },
    { name: 'three' },
  ],
  actuators: [{ name: 'relay', kind: 'gpio-output', line: 'P1', device: 'two', limits: { maxOn: '1h' } }],
};
const WALK = ['DOWNLOADING', 'DOWNLOADED', 'VERIFIED', 'UPDATING', 'UPDATED'];
const image = (text: string): Buffer => Buffer.alloc(20_000, text);

let bench: DevicesBench;

// A driver is loaded when it is first asked for, which takes real time.
beforeAll(async () => {
  await import('../../../src/actuators/gpio-output/driver.ts');
});
beforeEach(async () => {
  bench = new DevicesBench(CONFIG);
  await bench.start();
});
afterEach(() => bench.stop());

const told = (device: string, key: string) =>
  bench.entries.filter((one) => one.device === device && one.key === key).map(({ value }) => value);
const states = (device: string) => told(`gateway ${device}`, 'fw_state');

/** Lets what is under way take its steps. */
async function walk(ms = 60_000): Promise<void> {
  for (let step = 0; step < 60; step += 1) await bench.clock.advance(ms / 60);
}

/** Begins the next program, which runs until it is told to end. */
function slowProgram(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  bench.program = async (signal) => {
    const aborted = new Promise<void>((end) => signal.addEventListener('abort', () => end(), { once: true }));
    await Promise.race([promise, aborted]);
    if (signal.aborted) throw new Error('the agent gave up waiting');
    return { exitCode: 0, stdout: '', stderr: '', cut: false };
  };
  return resolve;
}

describe('a package that is assigned to an attached device', () => {
  it('is installed by its handler, and each state is told as this device’s alone', async () => {
    bench.side('one').offer('2.0', image('two'));
    await walk();
    expect(states('one')).toEqual(WALK);
    expect(bench.programs).toEqual([['one', '/state/devices/known/one/firmware/payload', 'pump', '2.0']]);
    expect(told('gateway one', 'current_fw_title')).toEqual(['pump']);
    expect(told('gateway one', 'current_fw_version')).toEqual(['2.0']);
    expect(new Set(bench.entries.filter(({ key }) => key.startsWith('fw_')).map(({ device }) => device))).toEqual(
      new Set(['gateway one']),
    );
    expect(await bench.files.list('/state/devices/known/one/firmware')).toEqual(['firmware-update.json']);
  });

  it.each([
    ['that is the agent’s own', { fw_title: 'turnstone' }, /nothing here is called "turnstone"/],
    ['whose version would be an option', { fw_version: '--erase' }, /version is not one/],
    ['that is larger than announced', { fw_size: 9_000 }, /another size/],
  ])('%s has failed, and no command is begun', async (_what, more, why) => {
    bench.side('one').offer('2.0', image('two'), more);
    await walk();
    expect(states('one').at(-1)).toBe('FAILED');
    expect(told('gateway one', 'fw_error')).toEqual([expect.stringMatching(why)]);
    expect(bench.programs).toEqual([]);
  });

  it('reaches no device without a handler, nor the gateway', async () => {
    bench.side('three').offer('2.0', image('two'));
    bench.side('self').offer('2.0', image('two'));
    await walk();
    expect(bench.side('three').polls.attributes).toBe(0);
    expect(states('three')).toEqual([]);
    expect(told('self', 'fw_error')).toEqual(['nothing here is called "pump"']);
    expect(bench.programs).toEqual([]);
  });
});

describe('a restart', () => {
  it('in the middle of a download goes on with what is there, and installs once', async () => {
    const side = bench.side('one');
    bench.side('one').offer('2.0', image('two'));
    side.isStuck = true;
    await walk(1_000);
    expect(states('one')).toEqual(['DOWNLOADING']);
    await bench.kill();
    side.isStuck = false;
    await bench.start();
    await walk();
    expect(states('one').slice(-5)).toEqual(WALK);
    expect(bench.programs).toHaveLength(1);
  });

  it('in the middle of the command is told as failed: nothing is installed twice', async () => {
    slowProgram();
    bench.side('one').offer('2.0', image('two'));
    await walk();
    expect(states('one').at(-1)).toBe('UPDATING');
    await bench.kill();
    await bench.start();
    await walk();
    expect(states('one').at(-1)).toBe('FAILED');
    expect(told('gateway one', 'fw_error')).toEqual([expect.stringContaining('cut short')]);
    expect(bench.programs).toHaveLength(1);
  });

  it('after the end installs nothing again, and another tag does', async () => {
    bench.side('one').offer('2.0', image('two'));
    await walk();
    await bench.kill();
    await bench.start();
    await walk();
    expect(bench.programs).toHaveLength(1);
    bench.side('one').share({ fw_tag: 'once more' });
    await walk();
    expect(bench.programs).toHaveLength(2);
  });
});

describe('of several devices', () => {
  it('one downloads at a time, and one that stands still gives way', async () => {
    bench.side('one').isStuck = true;
    bench.side('one').offer('2.0', image('two'));
    await walk(1_000);
    bench.side('two').offer('2.0', image('two'));
    await walk(60_000);
    expect(bench.side('two').parts).toBe(0);
    expect(states('two')).toEqual(['DOWNLOADING']);
    await walk(10 * 60_000);
    expect(states('two')).toEqual(WALK);
    bench.side('one').isStuck = false;
    await bench.kill();
    await bench.start();
    await walk();
    expect(states('one').at(-1)).toBe('UPDATED');
  });

  it('one is installed at a time', async () => {
    const end = slowProgram();
    bench.side('one').offer('2.0', image('two'));
    bench.side('two').offer('2.0', image('two'));
    await walk();
    expect(bench.programs).toHaveLength(1);
    expect([...states('one').slice(-1), ...states('two').slice(-1)].sort()).toEqual(['UPDATING', 'VERIFIED']);
    end();
    await walk();
    expect(bench.programs.map(([device]) => device).sort()).toEqual(['one', 'two']);
    expect([states('one').at(-1), states('two').at(-1)]).toEqual(['UPDATED', 'UPDATED']);
  });

  it('none goes before the gateway', async () => {
    const gateway = bench.side('self');
    gateway.isStuck = true;
    gateway.offer('2.0', image('two'), { fw_title: 'board' });
    await walk(1_000);
    bench.side('one').offer('2.0', image('two'));
    await walk(60_000);
    expect(gateway.parts).toBeGreaterThan(0);
    expect(bench.side('one').parts).toBe(0);
  });
});

describe('nothing is installed', () => {
  it('while the machine is locked out; a person sees why', async () => {
    bench.lock();
    bench.side('one').offer('2.0', image('two'));
    await walk();
    expect(states('one').at(-1)).toBe('VERIFIED');
    expect(bench.alerts.list().join()).toContain(
      'Gateway one: the update to pump 2.0 waits: the machine is locked out',
    );
    bench.lock(false);
    await walk();
    expect(states('one').at(-1)).toBe('UPDATED');
    expect(bench.alerts.list()).toEqual([]);
  });

  it('while a configuration is on trial; and the command of a package is seen while it runs', async () => {
    bench.holds = 'a configuration is on trial';
    bench.side('one').offer('2.0', image('two'));
    await walk();
    expect([states('one').at(-1), bench.firmware?.isInstalling]).toEqual(['VERIFIED', false]);
    const end = slowProgram();
    bench.holds = undefined;
    await walk();
    expect([states('one').at(-1), bench.firmware?.isInstalling]).toEqual(['UPDATING', true]);
    end();
    await walk();
    expect([states('one').at(-1), bench.firmware?.isInstalling]).toEqual(['UPDATED', false]);
  });

  it('of the gateway’s software without being seen, from before its command begins', async () => {
    const end = slowProgram();
    const offer = { title: 'tool', version: '1', size: 20_000, checksum_algorithm: 'SHA256' };
    const file = image('two');
    bench.side('self').file = file;
    bench.side('self').share({
      ...Object.fromEntries(Object.entries(offer).map(([key, value]) => [`sw_${key}`, value])),
      sw_checksum: createHash('sha256').update(file).digest('hex'),
    });
    await walk();
    expect([bench.firmware?.self.updater('software').status.state, bench.firmware?.isInstalling]).toEqual([
      'applying',
      true,
    ]);
    end();
    await walk();
    expect([told('self', 'current_sw_version'), bench.firmware?.isInstalling]).toEqual([['1'], false]);
  });

  it('while an output of the device is on for a time', async () => {
    bench.side('two').command('pulse', { name: 'relay', durationMs: 60_000 });
    await walk(1_000);
    expect(bench.side('two').replies).toEqual([{ result: expect.objectContaining({ name: 'relay', value: true }) }]);
    bench.side('one').offer('2.0', image('two'));
    bench.side('two').offer('2.0', image('two'));
    await walk(30_000);
    expect(states('one').at(-1)).toBe('UPDATED');
    expect(states('two').at(-1)).toBe('VERIFIED');
    await walk(60_000);
    expect(states('two').at(-1)).toBe('UPDATED');
  });
});
