/** A relay on a line. */
import { describe, expect, it } from 'vitest';
import { COMMON, opensWith } from '../../../test/support/actuator-driver.ts';
import type { GpioOutputConfig } from './definition.ts';
import { opener } from './driver.ts';

const never = new AbortController().signal;
const open = opensWith(opener);

describe('a relay', () => {
  it('takes its line as it is, and is on at 1', async () => {
    const levels: number[] = [];
    let opened: unknown;
    const output = {
      write: async (level: number) => void levels.push(level),
      read: async () => levels.at(-1),
      close: async () => void levels.push(-1),
    };
    const openOutput = async (settings: unknown): Promise<unknown> => {
      opened = settings;
      return output;
    };
    const config: GpioOutputConfig = {
      ...COMMON,
      kind: 'gpio-output',
      line: 'GPIO17',
      activeLow: true,
      maxPulseMs: 1_000,
    };
    const driver = await open(config, { gpio: { openOutput } });
    expect([opened, levels]).toEqual([{ line: 'GPIO17', activeLow: true, initial: 'keep' }, []]);
    await driver.write(true, never);
    expect([levels, await driver.read?.(never)]).toEqual([[1], true]);
    await driver.write(false, never);
    expect([levels, await driver.read?.(never)]).toEqual([[1, 0], false]);
    await driver.close();
    expect(levels).toEqual([1, 0, -1]);
  });
});
