/** Serial ports that stand in one configuration under several names. */
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SMALLEST } from '../../../test/support/config-file.ts';
import { readConfig } from '../read-config.ts';

let folder: string;
let tty: string;
let byId: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-ports-'));
  tty = join(folder, 'ttyUSB0');
  byId = join(folder, 'by-id');
  await writeFile(tty, '');
  await symlink('ttyUSB0', byId);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function read(text: string) {
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, `${SMALLEST}${text}\n`, { mode: 0o600 });
  const { config, meanwhile, faults } = await readConfig(file, { environment: {} });
  return { runs: (config ?? meanwhile) !== undefined, faults: faults.map(({ path, expected }) => [path, expected]) };
}

const sensor = (name: string, place: string): string =>
  `  - { name: ${name}, kind: serial-line, prefix: ${name}., ${place}, request: "S", format: number }`;
const unit = (place: string): string =>
  `  - { name: unit, kind: modbus-write, connection: { transport: rtu, ${place} }, address: 1 }`;

describe('one port', () => {
  it('of two lines under two paths is a fault of the second, which the agent outlives', async () => {
    const lines = `lines:\n  - { name: yard, port: ${tty} }\n  - { name: roof, port: ${byId} }`;
    expect(await read(lines)).toEqual({
      runs: true,
      faults: [['lines[1].port', 'on: yard in place of port and settings; lines[0].port has it already']],
    });
  });

  it('of a line that a sensor or output names by its path is a fault', async () => {
    const text = `lines:\n  - { name: yard, port: ${tty} }\nsensors:\n${sensor('a', `port: ${tty}`)}\n${sensor('b', 'on: yard')}\nactuators:\n${unit(`port: ${byId}`)}`;
    const expected = 'on: yard in place of port and settings; lines[0].port has it already';
    const { runs, faults } = await read(text);
    expect(runs).toBe(false);
    expect(faults.filter(([, words]) => words?.includes('lines[0]'))).toEqual([
      ['sensors[0].port', expected],
      ['actuators[0].connection.port', expected],
    ]);
  });

  it('of two sensors without a line is shared under one path, and a fault under two', async () => {
    expect(await read(`sensors:\n${sensor('a', `port: ${tty}`)}\n${sensor('b', `port: ${tty}`)}`)).toEqual({
      runs: true,
      faults: [],
    });
    expect(await read(`sensors:\n${sensor('a', `port: ${tty}`)}\n${sensor('b', `port: ${byId}`)}`)).toEqual({
      runs: true,
      faults: [['sensors[1].port', `${tty}; sensors[0].port has it already`]],
    });
  });

  it('may be on a line by its name, and two ports that are not there are two', async () => {
    const lines = 'lines:\n  - { name: yard, port: /dev/no-such-1 }\n  - { name: roof, port: /dev/no-such-2 }';
    expect((await read(`${lines}\nsensors:\n${sensor('a', 'on: yard')}\n${sensor('b', 'on: yard')}`)).faults).toEqual(
      [],
    );
  });
});
