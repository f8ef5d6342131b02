import { describe, expect, it } from 'vitest';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import type { Ports } from '../../hardware/ports.ts';
import { open as openCommand } from './driver.ts';

const { signal } = new AbortController();
const deps = () => sensorDeps({ ports: {} as never as Ports as never, folder: '/' });

describe('a command', () => {
  const command = (shell: string, more: Readonly<Record<string, unknown>> = {}) =>
    openCommand(
      sensorConfig({ name: 'tool', kind: 'command', program: '/bin/sh', arguments: ['-c', shell], ...more }),
      deps(),
      signal,
    );

  it('is read by what it prints', async () => {
    expect(await (await command('echo "{\\"level\\": 1.5, \\"ok\\": true}"')).read(signal)).toEqual([
      { key: 'level', value: 1.5 },
      { key: 'ok', value: true },
    ]);
    const lines = await command('echo heading; echo T=21.5; echo H=40', {
      format: 'regex',
      pattern: '^(?:T=(?<t>.*)|H=(?<h>.*))$',
    });
    expect(await lines.read(signal)).toEqual([
      { key: 't', value: 21.5, text: '21.5' },
      { key: 'h', value: 40, text: '40' },
    ]);
  });

  it('sees the variables it was given, and none of ours', async () => {
    process.env.TURNSTONE_TEST_SECRET = 'do-not-pass';
    const sensor = await command('echo "{\\"mode\\": \\"$MODE\\", \\"secret\\": \\"$TURNSTONE_TEST_SECRET\\"}"', {
      environment: { MODE: 'fast' },
    });
    expect(await sensor.read(signal)).toEqual([
      { key: 'mode', value: 'fast' },
      { key: 'secret', value: '' },
    ]);
    delete process.env.TURNSTONE_TEST_SECRET;
  });

  it('fails when it fails, hangs, prints too much or prints nonsense', async () => {
    await expect((await command('echo "no such card" >&2; exit 3')).read(signal)).rejects.toThrow(
      /ended with 3: "no such card/,
    );
    await expect((await command('sleep 20', { deadline: '100ms' })).read(signal)).rejects.toMatchObject({
      recovery: 'retry',
    });
    await expect((await command('yes', { maxOutput: '1kB', deadline: '300ms' })).read(signal)).rejects.toMatchObject({
      recovery: 'retry',
    });
    await expect((await command('head -c 5000 /dev/zero', { maxOutput: '1kB' })).read(signal)).rejects.toThrow(
      /more than 1000 bytes/,
    );
    await expect((await command('echo nonsense')).read(signal)).rejects.toMatchObject({ code: 'sensors/bad-line' });
  });
});
