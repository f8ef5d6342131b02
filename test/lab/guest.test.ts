/** The guest itself: what every other lab test stands on. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Guest } from './guest.ts';

describe('a lab guest', () => {
  let guest: Guest;
  beforeAll(async () => {
    guest = await Guest.boot();
  });
  afterAll(async () => await guest?.kill());

  it('is a machine of its own, with the project’s Node', async () => {
    expect(await guest.run('uname -r; node --version')).toMatch(/^6\.\d+\.\d+\S*\nv24\.21\.0\n$/);
  });

  it('runs commands side by side and reports their status and output', async () => {
    const slow = guest.run('sleep 1; echo slow');
    expect(await guest.attempt('echo out; echo err >&2; exit 3')).toEqual({
      status: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    });
    expect(await slow).toBe('slow\n');
  });

  it('ends a command that passes its deadline, with all it started', async () => {
    const { status } = await guest.attempt('sleep 1000 & sleep 1000', { deadlineMs: 500 });
    expect(status).toBe(137);
    expect(await guest.run('pgrep -c sleep || true')).toBe('0\n');
  });

  it('cannot write to the machine outside', async () => {
    await guest.run('echo changed >/etc/lab-was-here');
    await expect(import('node:fs/promises').then(({ access }) => access('/etc/lab-was-here'))).rejects.toThrow(
      'ENOENT',
    );
    expect((await guest.attempt('touch /lab/written')).status).not.toBe(0);
  });
});
