/** Names, tokens and the question whether one works. */

import { describe, expect, it } from 'vitest';
import { fingerprintOf, isAccessToken, makeAccessToken } from '../../../src/devices/access-token.ts';
import { deviceNameOf } from '../../../src/devices/device-name.ts';
import { tokenWorks } from '../../../src/devices/token-check.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';

const never = new AbortController().signal;

describe('an access token', () => {
  it('is what can stand in an address', () => {
    expect(['a', '!~', '...', 'x'.repeat(255)].map(isAccessToken)).toEqual([true, true, true, true]);
    expect(['', ' ', 'a b', 'a\n', 'é', '\x7f', '.', '..', 'x'.repeat(256)].map(isAccessToken)).toEqual(
      Array(9).fill(false),
    );
  });

  it('that is made is long, plain and never the same, and its fingerprint tells nothing of it', () => {
    const made = [makeAccessToken(systemRandomBytes), makeAccessToken(systemRandomBytes)];
    expect(made.every((one) => /^[A-Za-z0-9]{32}$/.test(one))).toBe(true);
    expect(made[0]).not.toBe(made[1]);
    expect(makeAccessToken(systemRandomBytes, 5).length).toBe(5);
    // SHA-256 of "abc", FIPS 180-2, appendix B.1: the first 16 digits.
    expect(fingerprintOf('abc')).toBe('ba7816bf8f01cfea');
  });
});

describe('a device name', () => {
  const board = { serial: 'S1', hostname: 'gw' };

  it('is its template over what the board is', () => {
    expect(deviceNameOf(' {serial}-{hostname} ', board)).toBe('S1-gw');
    expect(deviceNameOf('{mac|serial}', board)).toBe('S1');
    expect(deviceNameOf('{machineId}', { ...board, machineId: 'M' })).toBe('M');
    expect(deviceNameOf('{mac}', { ...board, mac: '02:00' })).toBe('02:00');
    expect(deviceNameOf('x'.repeat(255), board).length).toBe(255);
  });

  it('is refused with what there is', () => {
    const refusal = (template: string): string => {
      try {
        return deviceNameOf(template, board);
      } catch (error) {
        const { code, recovery, message } = error as { code: string; recovery: string; message: string };
        return `${code} ${recovery} ${message}`;
      }
    };
    const head = 'provisioning/device-name stop the device name of the configuration cannot be used: ';
    expect(refusal('{mac|machineId}')).toBe(
      `${head}this board has no mac and no machineId; it has {serial} = S1, {hostname} = gw`,
    );
    expect(refusal('{serial|nothing}')).toBe(
      `${head}{nothing} is not known; there are {serial}, {mac}, {machineId}, {hostname}`,
    );
    expect(refusal('{toString}')).toContain('{toString} is not known');
    expect(refusal('  ')).toBe(`${head}it is empty`);
    expect(refusal('x'.repeat(256))).toBe(`${head}it has 256 characters, at most 255 are taken`);
  });
});

describe('whether a token works', () => {
  async function asked(fault?: Error): Promise<readonly unknown[]> {
    const calls: unknown[] = [];
    const open = (token: string) => ({
      getAttributes: async (keys: object) => {
        calls.push(token, keys);
        if (fault !== undefined) throw fault;
        return { client: {}, shared: {}, empty: true };
      },
      close: async () => void calls.push('closed'),
    });
    const outcome = await tokenWorks(open, 'token', never).catch((error: Error) => error.message);
    return [outcome, ...calls];
  }

  it('is the platform’s own word, asked with what changes nothing', async () => {
    const question = ['token', { clientKeys: ['turnstoneOwner'] }, 'closed'];
    expect(await asked()).toEqual([true, ...question]);
    expect(await asked(new PlatformError('unauthorised', 'no', { status: 401 }))).toEqual([false, ...question]);
    expect(await asked(new PlatformError('unauthorised', 'proxy', { status: 403 }))).toEqual(['proxy', ...question]);
    expect(await asked(new Error('a fault of ours'))).toEqual(['a fault of ours', ...question]);
  });
});
