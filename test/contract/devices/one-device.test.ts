/** What holds of every device, the gateway as well as one that is attached to it: commands and wishes for its outputs, and packages for it. */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/values/json.ts';
import { DevicesBench } from '../../support/devices-bench.ts';

const HANDLER = { program: '/usr/local/bin/flash', arguments: ['{file}', '{title}', '{version}'] };
const OUTPUT = { kind: 'gpio-output', desiredKey: 'wish', safe: { start: false } };
const CONFIG = {
  firmware: {
    requireSignature: false,
    chunk: '4kB',
    handlers: [
      { ...HANDLER, title: 'board' },
      { ...HANDLER, title: 'pump' },
    ],
  },
  devices: [{ name: 'one', firmware: { handlers: ['pump'] } }],
  actuators: [
    { ...OUTPUT, name: 'lamp', line: 'L' },
    { ...OUTPUT, name: 'relay', line: 'R', device: 'one' },
  ],
};
const WALK = ['DOWNLOADING', 'DOWNLOADED', 'VERIFIED', 'UPDATING', 'UPDATED'];
const IMAGE = Buffer.alloc(20_000, 'image');
/** Bytes of an image that is new: no part of it is there. */
const OTHER_IMAGE = Buffer.alloc(20_000, 'other');

const GATEWAY = {
  side: 'self',
  id: 'self',
  folder: '/state',
  output: 'lamp',
  line: 'L',
  title: 'board',
  alert: 'shared attributes are not applied',
};
const ATTACHED = {
  side: 'one',
  id: 'gateway one',
  folder: '/state/devices/known/one',
  output: 'relay',
  line: 'R',
  title: 'pump',
  alert: 'shared attributes of Gateway one are not applied',
};

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

/** Lets what is under way take its steps. */
async function walk(ms = 60_000): Promise<void> {
  for (let step = 0; step < 60; step += 1) await bench.clock.advance(ms / 60);
}

describe.each([
  ['the gateway', GATEWAY, ATTACHED],
  ['an attached device', ATTACHED, GATEWAY],
])('%s', (_what, own, other) => {
  const side = () => bench.side(own.side);
  /** Times that an output was switched on. */
  const switchings = (line = own.line) => (bench.written.get(line) ?? []).filter((level) => level === 1).length;
  const stateKey = `${own.output}State`;
  const told = (key: string, id = own.id) =>
    bench.entries.filter((one) => one.device === id && one.key === key).map(({ value }) => value);
  const offer = (version: string, image: Buffer, more = {}) =>
    side().offer(version, image, { fw_title: own.title, ...more });

  describe('takes a wish for its output', () => {
    it('that moves it, is reported, and moves nothing of another', async () => {
      side().share({ wish: true });
      await walk(5_000);
      expect([switchings(), switchings(other.line)]).toEqual([1, 0]);
      expect(side().client).toMatchObject({ [stateKey]: true, sharedRefused: {}, actuatorFaults: {} });
      expect(bench.side(other.side).client).not.toHaveProperty(stateKey);
    });

    it('that does not fit, is refused, and told until it is corrected', async () => {
      side().share({ wish: 'half' });
      await walk(5_000);
      expect(switchings()).toBe(0);
      expect(side().client.sharedRefused).toHaveProperty('wish');
      expect(bench.alerts.list()).toEqual([expect.stringContaining(own.alert)]);
      expect(bench.side(other.side).client.sharedRefused).toEqual({});
      side().share({ wish: true });
      await walk(5_000);
      expect(switchings()).toBe(1);
      expect(side().client.sharedRefused).toEqual({});
      expect(bench.alerts.list()).toEqual([]);
    });

    it('that is taken back, and gives the output free', async () => {
      side().share({ wish: true });
      await walk(5_000);
      side().unshare('wish');
      await walk(5_000);
      expect(bench.actuators.control.state(own.output).value).toBe(false);
      expect(side().client[stateKey]).toBe(false);
    });

    it('that was refused, and is told no more after a restart when it was taken back meanwhile', async () => {
      side().share({ wish: 'half' });
      await walk(5_000);
      await bench.stop();
      side().unshare('wish');
      await bench.start();
      await walk(5_000);
      expect(side().client.sharedRefused).toEqual({});
    });

    it('that was done, and does not do it again after a restart: what somebody has done since stays', async () => {
      side().share({ wish: true });
      await walk(5_000);
      await bench.actuators.control.set(own.output, false, { by: 'local' }, new AbortController().signal);
      await bench.stop();
      await bench.start();
      await walk(5_000);
      expect(switchings()).toBe(1);
      expect(bench.files.paths).toContain(`${own.folder}/shared-attributes.json`);
    });

    it('and reports what another writer makes of the output', async () => {
      await bench.actuators.control.set(own.output, true, { by: 'local' }, new AbortController().signal);
      await walk(5_000);
      expect(side().client[stateKey]).toBe(true);
    });
  });

  describe('takes a command', () => {
    const ask = async (method: string, params: JsonObject) => {
      side().command(method, params);
      await walk(5_000);
      return side().replies.at(-1);
    };

    it('that moves its output, is answered, and moves nothing of another', async () => {
      expect(await ask('setActuator', { name: own.output, value: true })).toMatchObject({
        result: { name: own.output, value: true },
      });
      expect([switchings(), switchings(other.line)]).toEqual([1, 0]);
      expect(bench.side(other.side).replies).toEqual([]);
    });

    it('that switches on, and refuses it under lockout', async () => {
      bench.lock();
      expect(await ask('setActuator', { name: own.output, value: true })).toMatchObject({
        error: { code: 'locked-out' },
      });
      expect(switchings()).toBe(0);
    });

    it('and does not do it again when the platform hands it out once more after a kill', async () => {
      side().refusesReplies = true;
      await ask('pulse', { name: own.output, durationMs: 200 });
      expect(switchings()).toBe(1);
      await bench.kill();
      side().refusesReplies = false;
      await bench.start();
      await walk(5_000);
      expect(side().replies).toHaveLength(1);
      expect(switchings()).toBe(1);
    });
  });

  describe('takes a package', () => {
    it('that its handler installs, and tells each state as its own', async () => {
      offer('2.0', IMAGE);
      await walk();
      expect(told('fw_state')).toEqual(WALK);
      expect(bench.programs).toEqual([[`${own.folder}/firmware/payload`, own.title, '2.0']]);
      expect(told('current_fw_version').at(-1)).toBe('2.0');
      expect(told('fw_state', other.id)).toEqual([]);
    });

    it.each([
      ['with a wrong checksum', { fw_checksum: 'ab' }, /checksum/],
      ['that is another device’s', { fw_title: other.title }, new RegExp(`nothing here is called "${other.title}"`)],
    ])('%s, and tells that it failed, with the reason', async (_which, more, why) => {
      offer('2.0', IMAGE, more);
      await walk();
      expect(told('fw_state').at(-1)).toBe('FAILED');
      expect(told('fw_error')).toEqual([expect.stringMatching(why)]);
      expect(bench.programs).toEqual([]);
    });

    it('whose command fails, and tells what it said', async () => {
      bench.program = async () => ({ exitCode: 3, stdout: '', stderr: 'no answer on the bus\n', cut: false });
      offer('2.0', IMAGE);
      await walk();
      expect(told('fw_error')).toEqual(['flash ended with 3: no answer on the bus']);
    });

    it('that is withdrawn during the download, and installs the next', async () => {
      side().isStuck = true;
      offer('2.0', IMAGE);
      await walk(1_000);
      expect(told('fw_state')).toEqual(['DOWNLOADING']);
      side().unshare('fw_title', 'fw_version', 'fw_size', 'fw_checksum', 'fw_checksum_algorithm');
      await walk();
      expect(bench.files.paths.filter((path) => path.startsWith(`${own.folder}/firmware/image`))).toEqual([]);
      side().isStuck = false;
      offer('3.0', OTHER_IMAGE);
      await walk();
      expect(told('fw_state')).toEqual(['DOWNLOADING', ...WALK]);
      expect(bench.programs).toEqual([[`${own.folder}/firmware/payload`, own.title, '3.0']]);
    });

    it('that waits under lockout, with an alert, and installs it afterwards', async () => {
      bench.lock();
      offer('2.0', IMAGE);
      await walk();
      expect(told('fw_state').at(-1)).toBe('VERIFIED');
      expect(bench.alerts.list()).toEqual([expect.stringContaining(`the update to ${own.title} 2.0 waits`)]);
      bench.lock(false);
      await walk();
      expect(told('fw_state').at(-1)).toBe('UPDATED');
      expect(bench.alerts.list()).toEqual([]);
    });

    it('that waits while another is installed, without an alert', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      bench.program = async () => {
        await promise;
        return { exitCode: 0, stdout: '', stderr: '', cut: false };
      };
      bench.side(other.side).offer('2.0', IMAGE, { fw_title: other.title });
      await walk();
      offer('2.0', IMAGE);
      await walk();
      expect(told('fw_state').at(-1)).toBe('VERIFIED');
      expect(bench.alerts.list()).toEqual([]);
      resolve();
      await walk();
      expect(told('fw_state').at(-1)).toBe('UPDATED');
    });
  });
});
