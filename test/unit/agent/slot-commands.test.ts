/** Commands and attributes of attached devices: each reaches what is its own, and nothing else. */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DevicesBench } from '../../support/devices-bench.ts';

const relay = (name: string, line: string, device?: string, more: object = {}) => ({
  name,
  kind: 'gpio-output',
  line,
  desiredKey: 'wish',
  ...more,
  ...(device === undefined ? {} : { device }),
});
/** Two devices with one output each, whose shared attribute has the same name, and one output of the gateway. */
const TWO = {
  devices: [{ name: 'one' }, { name: 'two' }],
  actuators: [relay('pump1', 'P1', 'one'), relay('pump2', 'P2', 'two'), { ...relay('lamp', 'L'), desiredKey: 'lamp' }],
  sensors: [
    { name: 'meter1', kind: 'host', device: 'one' },
    { name: 'meter2', kind: 'host', device: 'two' },
    { name: 'board', kind: 'host' },
  ],
};

let bench: DevicesBench;

// A driver is loaded when it is first asked for, which takes real time.
beforeAll(async () => {
  await import('../../../src/actuators/gpio-output/driver.ts');
});
beforeEach(() => {
  bench = new DevicesBench(TWO);
});
afterEach(() => bench.stop());

const ask = async (
  device: string,
  method: string,
  params: Parameters<ReturnType<DevicesBench['side']>['command']>[1],
) => {
  bench.side(device).command(method, params);
  await bench.clock.advance(100);
  return bench.side(device).replies.at(-1);
};
const levels = () => ['P1', 'P2', 'L'].map((line) => bench.written.get(line)?.at(-1) ?? 0);

describe('a command', () => {
  beforeEach(() => bench.start());

  it('of the same name moves the output of the device that was asked, and of no other', async () => {
    expect(await ask('one', 'setValue', true)).toMatchObject({ result: { name: 'pump1', value: true } });
    expect(levels()).toEqual([1, 0, 0]);
    expect(await ask('two', 'setValue', true)).toMatchObject({ result: { name: 'pump2', value: true } });
    expect(await ask('one', 'setValue', false)).toMatchObject({ result: { name: 'pump1', value: false } });
    expect(levels()).toEqual([0, 1, 0]);
    expect(await ask('two', 'getValue', null)).toBe(true);
  });

  it.each(['setActuator', 'releaseActuator', 'getActuator', 'toggle', 'pulse'])(
    '%s on an output of another device, or of the gateway, is answered as for one that is not there',
    async (method) => {
      const more = { setActuator: { value: true }, pulse: { durationMs: 100 } }[method] ?? {};
      for (const name of ['pump2', 'lamp', 'none'])
        expect(await ask('one', method, { name, ...more })).toMatchObject({
          error: {
            code: 'unknown',
            message: expect.stringMatching(new RegExp(`^there is no actuator ${name}(; did you mean "pump1"\\?)?$`)),
          },
        });
      expect(levels()).toEqual([0, 0, 0]);
      expect(await ask('one', method, { name: 'pump1', ...more })).toMatchObject({ result: { name: 'pump1' } });
    },
  );

  it.each([
    'reboot',
    'restart',
    'setLogLevel',
    'setNextAccessToken',
    'setProvisioningSecret',
    'outboxStatus',
    'diagnose',
  ])('%s, which is the gateway’s, is none of a device', async (method) => {
    expect(await ask('one', method, {})).toMatchObject({ error: { code: 'unknown-method' } });
  });

  it('reads a sensor of the device, and of no other', async () => {
    expect(await ask('one', 'readSensor', { name: 'meter1' })).toEqual({ result: [{ key: 'read', value: 'meter1' }] });
    for (const name of ['meter2', 'board'])
      expect(await ask('one', 'readSensor', { name })).toMatchObject({ error: { code: 'unknown' } });
  });

  it('acknowledges alarms of the device, and of no other, under lockout as well', async () => {
    bench.lock();
    expect(await ask('one', 'acknowledgeAlarm', { sensor: 'meter1', key: 'power' })).toMatchObject({
      result: [{ sensor: 'meter1', key: 'power', acknowledged: { by: 'platform' } }],
    });
    for (const sensor of ['meter2', 'board'])
      expect(await ask('one', 'acknowledgeAlarm', { sensor, key: 'power' })).toMatchObject({
        error: { code: 'unknown' },
      });
  });

  it('is refused while the machine is locked out', async () => {
    bench.lock();
    expect(await ask('one', 'setValue', true)).toContain('fault: the machine is locked out');
    expect(levels()).toEqual([0, 0, 0]);
  });

  it('asks for the status of this device alone', async () => {
    bench.states = ['meter1', 'meter2'].map((name) => bench.stateOf(name, 'working'));
    const { result } = (await ask('one', 'getStatus', null)) as {
      result: { sensors: { name: string }[]; actuators: { name: string }[] };
    };
    expect(result).toMatchObject({ name: 'Gateway one', gateway: 'Gateway', active: true });
    expect([result.sensors, result.actuators].map((all) => all.map(({ name }) => name))).toEqual([
      ['meter1'],
      ['pump1'],
    ]);
  });
});

describe('a permission', () => {
  const methods = { setValue: { actuator: 'lamp', allowed: { enum: [false] } }, setActuator: { enabled: false } };

  it('of a method of the gateway holds for none of the same name of a device; of a built-in one for all', async () => {
    bench = new DevicesBench({ ...TWO, rpc: { methods } });
    await bench.start();
    await ask('one', 'setValue', true);
    expect(levels()).toEqual([1, 0, 0]);
    expect(await ask('one', 'setActuator', { name: 'pump1', value: false })).toMatchObject({
      error: { code: 'disabled' },
    });
  });
});

describe('a method that sends', () => {
  it('tells the device of its sensor, is refused under lockout, and is none of another device', async () => {
    const scale = { name: 'scale', kind: 'serial-line', port: '/dev/ttyS1', request: 'S', device: 'one' };
    const methods = { tare: { sensor: 'scale', send: 'T' } };
    bench = new DevicesBench({ ...TWO, sensors: [scale], rpc: { methods } });
    await bench.start();
    expect(await ask('one', 'tare', null)).toMatchObject({ result: { sent: true } });
    expect(await ask('two', 'tare', null)).toMatchObject({ error: { code: 'unknown-method' } });
    bench.lock();
    expect(await ask('one', 'tare', null)).toContain('the machine is locked out');
    expect(bench.told).toEqual(['/dev/ttyS1 T']);
  });
});

describe('shared attributes', () => {
  beforeEach(() => bench.start());

  it('move the outputs of their own device alone, though their keys are the same', async () => {
    bench.side('one').share({ wish: true, lamp: true, 'log.level': 'debug' });
    await bench.clock.advance(2_000);
    expect(levels()).toEqual([1, 0, 0]);
    expect(bench.side('one').client).toMatchObject({ pump1State: true, sharedRefused: {} });
    expect(bench.side('two').client).toMatchObject({ pump2State: false });
    expect(Object.keys(bench.side('two').client)).not.toContain('pump1State');
  });

  it('that are not applied are told to their own device, and in an alert that names it', async () => {
    bench.side('two').share({ wish: 'half' });
    await bench.clock.advance(2_000);
    expect(bench.side('two').client.sharedRefused).toHaveProperty('wish');
    expect(bench.side('one').client.sharedRefused).toEqual({});
    expect(bench.alerts.list().join()).toContain('shared attributes of Gateway two are not applied');
  });

  it('are known after a restart: what somebody has done since is not undone', async () => {
    bench.side('one').share({ wish: true });
    await bench.clock.advance(2_000);
    await ask('one', 'setValue', false);
    await bench.stop();
    await bench.start();
    await bench.clock.advance(2_000);
    expect(levels()).toEqual([0, 0, 0]);
  });
});

describe('client attributes', () => {
  it('are the device’s own: serial number, firmware of the thing, gateway, and whether it answers', async () => {
    bench.serialNumbers.one = 'A-17';
    bench.states = [
      bench.stateOf('meter1', 'working', { firmwareVersion: '2.1', power: 7 }),
      bench.stateOf('meter2', 'failing'),
      bench.stateOf('board', 'working', { firmware: '9' }),
    ];
    await bench.start();
    expect(bench.side('one').client).toMatchObject({
      serialNumber: 'A-17',
      firmware: '2.1',
      gateway: 'Gateway',
      active: true,
    });
    expect(bench.side('two').client).toMatchObject({ gateway: 'Gateway', active: false });
    expect(bench.side('two').client).not.toHaveProperty('serialNumber');
    expect(bench.side('two').client).not.toHaveProperty('firmware');
    bench.states = [bench.stateOf('meter1', 'failing'), bench.stateOf('meter2', 'working')];
    await bench.clock.advance(61_000);
    expect([bench.side('one').client.active, bench.side('two').client.active]).toEqual([false, true]);
  });

  it('say nothing of a device whose sensors have not been read yet, and that one without sensors is there', async () => {
    bench.states = [bench.stateOf('meter1', 'starting')];
    await bench.start();
    expect(bench.side('one').client).not.toHaveProperty('active');
    expect(bench.side('two').client).toMatchObject({ active: true });
  });
});

describe('the journal of a device', () => {
  it('survives a restart: a movement whose reply was lost is not done again', async () => {
    await bench.start();
    bench.side('one').refusesReplies = true;
    await ask('one', 'pulse', { name: 'pump1', durationMs: 200 });
    await bench.clock.advance(1_000);
    expect(bench.written.get('P1')).toEqual([1, 0]);
    await bench.kill();
    bench.side('one').refusesReplies = false;
    await bench.start();
    await bench.clock.advance(5_000);
    expect(bench.side('one').replies).toHaveLength(1);
    expect(bench.written.get('P1')?.filter((level) => level === 1)).toEqual([1]);
    expect(bench.files.paths.filter((path) => path.endsWith('rpc-journal.jsonl')).sort()).toEqual([
      '/state/devices/known/one/rpc-journal.jsonl',
      '/state/devices/known/two/rpc-journal.jsonl',
      '/state/rpc-journal.jsonl',
    ]);
  });

  it('takes the same id and content at another device for another command', async () => {
    await bench.start();
    const pulse = { durationMs: 200 };
    await ask('one', 'pulse', { name: 'pump1', ...pulse });
    await ask('two', 'pulse', { name: 'pump2', ...pulse });
    await bench.clock.advance(1_000);
    expect(['P1', 'P2'].map((line) => bench.written.get(line))).toEqual([
      [1, 0],
      [1, 0],
    ]);
  });
});

describe('polls', () => {
  it('of a device with an output are for commands and for shared attributes', async () => {
    bench = new DevicesBench(TWO);
    await bench.start();
    await bench.clock.advance(60_000);
    const { rpc, attributes } = bench.side('one').polls;
    expect({ rpc: rpc > 0, attributes: attributes > 0 }).toEqual({ rpc: true, attributes: true });
    expect(bench.side('one').reads).toBeGreaterThan(0);
    expect(bench.side('one').client).toMatchObject({ gateway: 'Gateway' });
  });

  it('of a device without an output are none', async () => {
    bench = new DevicesBench({ ...TWO, devices: [...TWO.devices, { name: 'meter' }] });
    await bench.start();
    await bench.clock.advance(60_000);
    expect(bench.side('meter').polls).toEqual({ rpc: 0, attributes: 0 });
  });

  it('of forty devices stand in turns, and bring every command and every wish within a round', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `d${at}`);
    bench = new DevicesBench({
      devices: names.map((name) => ({ name })),
      actuators: names.map((name) => relay(`pump-${name}`, name, name)),
    });
    await bench.start();
    await bench.clock.advance(30_000);
    expect([bench.turns.load('rpc'), bench.turns.load('attributes')]).toEqual([
      { standing: 8, waiting: 32 },
      { standing: 8, waiting: 32 },
    ]);
    for (const [at, name] of names.entries()) {
      if (at % 2 === 0) bench.side(name).command('setValue', true);
      else bench.side(name).share({ wish: true });
    }
    await bench.clock.advance((40 / 8) * 20_000 + 2_000);
    expect(names.filter((name) => bench.written.get(name)?.at(-1) !== 1)).toEqual([]);
    expect(bench.side('d0').replies).toMatchObject([{ result: { name: 'pump-d0', value: true } }]);
  });
});

describe('readings of outputs', () => {
  it('are kept under the id that their slot has by then', async () => {
    let id = '?one';
    await bench.start((slot) => (slot === 'one' ? id : `gateway ${slot}`));
    await ask('one', 'setValue', true);
    id = 'Gateway A-17';
    await ask('one', 'setValue', false);
    await bench.actuators.control.set('lamp', true, { by: 'local' }, new AbortController().signal);
    const told = bench.entries.filter(({ key, value }) => /^(pump1|lamp)State$/.test(key) && value !== undefined);
    expect(told.map(({ device, key, value }) => [device, key, value]).slice(-3)).toEqual([
      ['?one', 'pump1State', true],
      ['Gateway A-17', 'pump1State', false],
      ['self', 'lampState', true],
    ]);
  });
});
