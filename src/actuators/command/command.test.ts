/** A program that moves something, as it really runs. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { COMMON, opensWith } from '../../../test/support/actuator-driver.ts';
import type { CommandConfig } from './definition.ts';
import { opener } from './driver.ts';

const never = new AbortController().signal;
const open = opensWith(opener);
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-drivers-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('a command actuator', () => {
  const config = (changes: Partial<CommandConfig>): CommandConfig => ({
    ...COMMON,
    kind: 'command',
    program: '/bin/sh',
    arguments: [],
    valueType: 'string',
    timeoutMs: 1_000,
    ...changes,
  });

  it('gives the value to its program as one argument, whatever is in it', async () => {
    const out = join(folder, 'out');
    const driver = await open(config({ arguments: ['-c', `printf %s "$1" > ${out}`, 'sh', '{value}'] }));
    const nasty = `$(touch ${folder}/pwned); "'\`x\` > y`;
    await driver.write(nasty, never);
    expect(await readFile(out, 'utf8')).toBe(nasty);
    await expect(readFile(join(folder, 'pwned'))).rejects.toThrow();
  });

  it('refuses a value that would be an option, and lets a negative number through', async () => {
    const out = join(folder, 'out');
    const driver = await open(config({ arguments: ['-c', `printf %s "$1" > ${out}`, 'sh', '{value}'] }));
    await expect(driver.write('--force', never)).rejects.toMatchObject({ code: 'host/bad-argument' });
    await driver.write(-5, never);
    expect(await readFile(out, 'utf8')).toBe('-5');
  });

  it('fails with what the program said, when it fails, hangs or is not there', async () => {
    const failing = await open(config({ arguments: ['-c', 'echo no paper >&2; exit 3'] }));
    await expect(failing.write(true, never)).rejects.toMatchObject({
      code: 'actuators/program-failed',
      message: '/bin/sh ended with 3: no paper',
    });
    const hanging = await open(config({ arguments: ['-c', 'sleep 60 & wait'], timeoutMs: 100 }));
    await expect(hanging.write(true, never)).rejects.toMatchObject({ code: 'host/program-deadline' });
    const missing = await open(config({ program: '/nonexistent' }));
    await expect(missing.write(true, never)).rejects.toMatchObject({ code: 'host/program-not-started' });
  });

  it('reads back what its other program prints, as the type it has', async () => {
    await writeFile(join(folder, 'state'), ' on\n');
    const readBack = { program: '/bin/cat', arguments: [join(folder, 'state')] };
    expect(await (await open(config({ readBack, valueType: 'boolean' }))).read?.(never)).toBe(true);
    expect(await (await open(config({ readBack, valueType: 'string' }))).read?.(never)).toBe('on');
    await expect((await open(config({ readBack, valueType: 'number' }))).read?.(never)).rejects.toMatchObject({
      code: 'actuators/bad-read-back',
    });
  });

  it('reads back each word and number for what it is, and nothing that only looks like it', async () => {
    const read = async (printed: string, valueType: 'boolean' | 'number' | 'string'): Promise<unknown> => {
      const readBack = { program: '/bin/echo', arguments: ['-n', printed] };
      const driver = await open(config({ readBack, valueType }));
      return await driver.read?.(never).catch((error: { code: string }) => error.code);
    };
    const all = (valueType: 'boolean' | 'number', ...printed: string[]): Promise<unknown[]> =>
      Promise.all(printed.map((one) => read(one, valueType)));
    const bad = 'actuators/bad-read-back';
    expect(await all('boolean', '1', 'TRUE', 'on', '0', 'false', 'Off', '2', 'online', '')).toEqual([
      ...[true, true, true, false, false, false, bad, bad, bad],
    ]);
    expect(await all('number', '-1.5', '0', '', '1e999', '1 2')).toEqual([-1.5, 0, bad, bad, bad]);
    expect(await read('', 'string')).toBe('');
  });

  it('says how its program ended, in a few words', async () => {
    const told = async (script: string): Promise<string> =>
      await (await open(config({ arguments: ['-c', script] }))).write(true, never).then(
        () => 'moved',
        (error: Error) => error.message,
      );
    expect(await told('exit 4')).toBe('/bin/sh ended with 4');
    expect(await told('kill -9 $$')).toBe('/bin/sh was ended by a signal');
    expect((await told(`printf '%0300d' 7 >&2; exit 1`)).length).toBe('/bin/sh ended with 1: '.length + 200);
    expect(await told('exit 0')).toBe('moved');
  });

  it('cannot be asked without a program for it, and has nothing to give back', async () => {
    const driver = await open(config({}));
    expect([driver.read, await driver.close()]).toEqual([undefined, undefined]);
  });

  it('keeps the agent’s environment to itself', async () => {
    process.env.TURNSTONE_TEST_SECRET = 'hidden';
    onTestFinished(() => void delete process.env.TURNSTONE_TEST_SECRET);
    const out = join(folder, 'out');
    await (await open(config({ arguments: ['-c', `env > ${out}`] }))).write(true, never);
    expect(await readFile(out, 'utf8')).not.toContain('hidden');
  });
});
