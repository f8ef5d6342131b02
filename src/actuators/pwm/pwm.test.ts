/** The duty cycle of a PWM channel, as the hardware rounds and loses it. */
import { describe, expect, it } from 'vitest';
import { COMMON, opensWith } from '../../../test/support/actuator-driver.ts';
import type { PwmPort, PwmState } from '../../hardware/pwm-port.ts';
import type { PwmConfig } from './definition.ts';
import { opener } from './driver.ts';

const never = new AbortController().signal;
const open = opensWith(opener);

describe('a PWM actuator', () => {
  it('takes percent and reads back what it set, as the hardware rounds it', async () => {
    let state: PwmState = { periodNs: 0, dutyNs: 0, enabled: false };
    const channel = {
      set: async (next: PwmState) => {
        state = { ...next, dutyNs: Math.round(next.dutyNs / 40) * 40 };
      },
      read: async () => state,
      close: async () => {
        closed += 1;
      },
    };
    let closed = 0;
    let opened: unknown;
    const openChannel: PwmPort['openChannel'] = async (wanted) => {
      opened = wanted;
      return channel;
    };
    const pwm = { openChannel } as Partial<PwmPort> as PwmPort;
    const config: PwmConfig = { ...COMMON, kind: 'pwm', chip: 0, channel: 1, frequencyHz: 25_000, inverted: false };
    const driver = await open(config, { pwm });
    expect(await driver.read?.(never)).toBe(0);
    await driver.write(33, never);
    expect([state, await driver.read?.(never)]).toEqual([{ periodNs: 40_000, dutyNs: 13_200, enabled: true }, 33]);
    state = { periodNs: 40_000, dutyNs: 20_000, enabled: true };
    expect(await driver.read?.(never)).toBe(50);
    await driver.write(0, never);
    // Enabled: of a disabled channel nobody knows the level.
    expect([state, await driver.read?.(never)]).toEqual([{ periodNs: 40_000, dutyNs: 0, enabled: true }, 0]);
    state = { periodNs: 40_000, dutyNs: 0, enabled: false };
    await expect(driver.read?.(never)).rejects.toMatchObject({ code: 'actuators/unknown-level' });
    await driver.write(50, never);
    state = { periodNs: 40_000, dutyNs: 20_200, enabled: true };
    expect(await driver.read?.(never)).toBe(50);
    state = { periodNs: 40_000, dutyNs: 20_240, enabled: true };
    expect(await driver.read?.(never)).toBe(50.6);
    expect([opened, closed]).toEqual([{ chip: 0, channel: 1, polarity: 'normal' }, 0]);
    await driver.close();
    expect(closed).toBe(1);
    state = { periodNs: 0, dutyNs: 0, enabled: true };
    expect(await (await open(config, { pwm })).read?.(never)).toBe(0);
    const inverted = await open({ ...config, inverted: true }, { pwm });
    expect(opened).toMatchObject({ polarity: 'inversed' });
    state = { periodNs: 0, dutyNs: 0, enabled: false };
    await expect(inverted.read?.(never)).rejects.toMatchObject({ code: 'actuators/unknown-level', recovery: 'retry' });
  });
});
