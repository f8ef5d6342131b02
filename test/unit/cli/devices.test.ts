import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { sealArchive } from '../../../src/devices/archive.ts';
import { namedDevice } from '../../../src/devices/named-device.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import type { DevicesControl } from '../../../src/operations/device-operations.ts';
import { operationsOf } from '../../../src/operations/operation-table.ts';
import type { DeviceStatus } from '../../../src/status/shape/device-status.ts';
import { attachedDevice } from '../../support/attached-device-status.ts';
import { type FakeEdgeOptions, fakeEdge } from '../../support/fake-edge.ts';
import { doorTo } from '../../support/socket-operations.ts';

let folder: string;
let server: ControlServer;
let devices: readonly DeviceStatus[];
let asked: unknown[];
let packed: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-devices-'));
  asked = [];
  packed = await sealArchive('device', {}, 'correct horse battery', systemRandomBytes);
  devices = [
    recent({ name: 'gateway-7 meter1', label: 'Heat pump' }),
    recent({
      name: 'gateway-7 meter2',
      slots: ['meter2'],
      state: 'blocked',
      reason: 'it was deleted\u001b[31m',
      heldEntries: 44,
    }),
    recent({ name: 'gateway-7 meter3', slots: ['meter3'], state: 'provisioning' }),
  ];
  const control: DevicesControl = {
    list: () => devices,
    named: (text) => namedDevice(devices, text),
    claim: async (id, request) => {
      asked.push(['claim', id, request]);
      return {
        secretKey: 'ABCDE-FGHJK',
        untilMs: systemClock.wallMs() + 600_000,
        untilIsEstimate: false,
        alreadyOpen: false,
      };
    },
    rotate: async (id, token) => void asked.push(['rotate', id, token]),
    remove: async (id) => void asked.push(['remove', id]),
    rename: async (id, name) => void asked.push(['rename', id, name]),
    pack: async (id, passphrase) => {
      asked.push(['pack', id, passphrase]);
      return packed;
    },
    leave: async (id) => void asked.push(['leave', id]),
    take: async (arrival) => {
      asked.push(['take', arrival]);
      return { id: arrival.slot, name: 'roof meter1', isConfigured: arrival.slot === 'meter1' };
    },
  };
  const deps = {
    ...doorTo(operationsOf({ devices: control })),
    folder: join(folder, 'run'),
    clock: systemClock,
    files: systemFiles,
    log: silentLog,
  };
  server = await ControlServer.open(deps, new AbortController().signal);
});

afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

function recent(change: Partial<DeviceStatus>): DeviceStatus {
  const nowMs = systemClock.monotonicMs();
  return attachedDevice({ sinceMs: nowMs - 7_200_000, lastAcceptedAtMs: nowMs - 9_030_000, ...change });
}

async function run(words: readonly string[], options: FakeEdgeOptions = {}) {
  const edge = fakeEdge({ columns: 200, ...options });
  const exitCode = await runCommandLine(['devices', ...words, '--run-folder', join(folder, 'run')], {
    edge,
    version: () => '1',
  });
  return { exitCode, out: edge.out(), err: edge.err(), asked: edge.asked };
}

describe('turnstone devices', () => {
  it.each([['show'], ['claim'], ['rotate', '--make'], ['remove'], ['rename']])(
    'refuses %s without a name, and lists the names',
    async (...words) => {
      const { exitCode, out, err } = await run(words);
      expect(exitCode).toBe(EXIT.usage);
      expect(out).toBe('');
      expect(err).toContain('name a device: gateway-7 meter1, gateway-7 meter2, gateway-7 meter3');
      expect(asked).toEqual([]);
    },
  );

  it('counts the names that are too many to list', async () => {
    devices = Array.from({ length: 23 }, (_, at) => recent({ name: `meter-${at}` }));
    const { exitCode, err } = await run(['show']);
    expect(exitCode).toBe(EXIT.usage);
    expect(err).toContain('meter-19, and 3 more (turnstone devices)');
  });

  it('says how a device is added where there is none to name', async () => {
    devices = [];
    const { exitCode, err } = await run(['remove', '--yes']);
    expect(exitCode).toBe(EXIT.usage);
    expect(err).toContain('devices: in the configuration adds them');
  });

  it('refuses a rename without the new name', async () => {
    const { exitCode, err } = await run(['rename', 'meter1']);
    expect(exitCode).toBe(EXIT.usage);
    expect(err).toContain('write its new name after its name');
    expect(asked).toEqual([]);
  });

  it('lists those first that need a person, with what to do, and fails while one is blocked', async () => {
    const { exitCode, out } = await run([]);
    expect(exitCode).toBe(EXIT.failure);
    const lines = out.split('\n');
    expect(lines[0]).toBe('3: 1 blocked, 1 provisioning, 1 ready; 44 entries wait');
    expect(lines[1]).toMatch(/^DEVICE +SLOT +DELIVERED +STATE$/);
    expect(lines[2]).toMatch(/^gateway-7 meter2 +meter2 +2h30m ago +blocked, 44 entries wait: it was deleted�\[31m$/);
    expect(lines[3]).toMatch(/^gateway-7 meter3 +.* the platform has not given it a token yet$/);
    expect(lines[4]).toMatch(/^gateway-7 meter1 +.* up to date$/);
    expect(lines[5]).toMatch(/^! gateway-7 meter2: enter the token .*turnstone devices rotate 'gateway-7 meter2'/);
    expect(lines[6]).toMatch(/^! gateway-7 meter3: /);
    expect(lines[7]).toBe('');
  });

  it('ends with 0 when none is blocked, and says where devices come from when there are none', async () => {
    devices = devices.slice(0, 1);
    expect((await run(['list'])).exitCode).toBe(EXIT.ok);
    devices = [];
    expect(await run([])).toMatchObject({
      exitCode: EXIT.ok,
      out: 'no device is attached; devices: in the configuration adds them\n',
    });
  });

  it('names the first ten of many that need something', async () => {
    devices = Array.from({ length: 25 }, (_, at) => recent({ name: `meter${at}`, state: 'blocked' }));
    const { out } = await run([]);
    expect(out.match(/^! /gm)).toHaveLength(10);
    expect(out).toContain('tells of 15 more');
  });

  it('gives programs the sentence with the facts', async () => {
    const { exitCode, out } = await run(['--json']);
    expect(exitCode).toBe(EXIT.failure);
    expect(JSON.parse(out)).toMatchObject([
      { state: 'blocked', verdict: 'fault', slots: ['meter2'] },
      {},
      { words: 'up to date' },
    ]);
  });

  it('shows one', async () => {
    const { out } = await run(['show', 'meter1']);
    expect(out).toMatch(/^label +Heat pump$/m);
    expect(out).toMatch(/^state +up to date, for 2h\w*$/m);
    expect(out).toMatch(/^delivered +12 entries since the agent started, the last 2h30m ago$/m);
    expect(JSON.parse((await run(['show', 'meter2', '--json'])).out)).toMatchObject({
      id: 'gateway-7 meter2',
      verdict: 'fault',
    });
  });

  it('says which one may be meant', async () => {
    const { exitCode, err } = await run(['show', 'met']);
    expect(exitCode).not.toBe(EXIT.ok);
    expect(err).toContain('met may be 3 devices: gateway-7 meter1 (meter1)');
  });
});

describe('what is done for one device', () => {
  it('opens a claim, with a code', async () => {
    const { exitCode, out } = await run(['claim', 'meter1', '--duration', '10m']);
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toMatch(/^device +gateway-7 meter1\nsecret +ABCDE-FGHJK\nvalid +10m\n\n/);
    expect(out).toContain('█');
    expect((await run(['claim', 'meter1', '--no-qr'])).out).not.toContain('█');
    expect(asked[0]).toEqual(['claim', 'gateway-7 meter1', { durationMs: 600_000 }]);
  });

  it('takes the next token from a file, or makes it', async () => {
    const file = join(folder, 'token');
    await writeFile(file, 'the-next-token\n');
    expect(await run(['rotate', 'meter2', '--token-file', file])).toMatchObject({ exitCode: EXIT.ok, out: '' });
    const { out, err } = await run(['rotate', 'meter2', '--make']);
    expect(err).toContain('kept beside the present one of gateway-7 meter2');
    expect(asked).toEqual([
      ['rotate', 'gateway-7 meter2', 'the-next-token'],
      ['rotate', 'gateway-7 meter2', out.trim()],
    ]);
    expect((await run(['rotate', 'meter2', '--make', '--token-file', file])).exitCode).toBe(EXIT.usage);
  });

  it('removes after a yes, and says what is lost with it', async () => {
    const refused = await run(['remove', 'meter2'], { answers: ['no'] });
    expect(refused).toMatchObject({
      exitCode: EXIT.failure,
      asked: [expect.stringContaining('gateway-7 meter2 and 44 entries that wait?')],
    });
    expect(asked).toEqual([]);
    const done = await run(['remove', 'meter2', '--yes']);
    expect(done.out).toBe(
      'forgotten: gateway-7 meter2 and 44 entries that wait; it stands in the configuration, so it is made anew\n',
    );
    expect(asked).toEqual([['remove', 'gateway-7 meter2']]);
  });

  it('takes another name', async () => {
    const { out } = await run(['rename', 'meter1', 'Heat pump']);
    expect(out).toBe('called Heat pump here from now on; the platform was told nothing\n');
    expect(asked).toEqual([['rename', 'gateway-7 meter1', 'Heat pump']]);
  });

  it('goes to another gateway by a file, which is written before it leaves', async () => {
    const file = join(folder, 'meter1.id');
    const passphraseFile = join(folder, 'passphrase');
    await writeFile(passphraseFile, 'correct horse battery\n');
    const away = ['move', 'meter2', '--to', file, '--passphrase-file', passphraseFile];
    const { exitCode, out } = await run(away);
    expect(exitCode).toBe(EXIT.ok);
    expect(out.replaceAll(file, 'FILE')).toBe(
      'written to FILE; whoever has it and the passphrase is gateway-7 meter2\n' +
        'nothing new is sent as it from here; 44 entries of before are delivered from here still\n' +
        'take meter2 out of the configuration here once the other gateway has it\n' +
        'to undo this: turnstone devices move --from FILE --slot meter2\n',
    );
    expect(await readFile(file, 'utf8')).toBe(packed);
    expect(asked).toEqual([
      ['pack', 'gateway-7 meter2', 'correct horse battery'],
      ['leave', 'gateway-7 meter2'],
    ]);
    expect(await run(away)).toMatchObject({ exitCode: EXIT.usage, err: expect.stringContaining('is there already') });
    const come = ['move', '--from', file, '--passphrase-file', passphraseFile, '--slot'];
    expect((await run([...come, 'meter1', '--replace'])).out).toBe('meter1 is roof meter1 here from now on\n');
    expect((await run([...come, 'm7'])).out).toContain(
      'now put m7 under devices: in the configuration, and restart the agent\n',
    );
    const arrival = { text: packed, passphrase: 'correct horse battery' };
    expect(asked.slice(2)).toEqual([
      ['take', { ...arrival, slot: 'meter1', replace: true }],
      ['take', { ...arrival, slot: 'm7', replace: false }],
    ]);
    expect((await run([...come, 'no/slot'])).err).toContain('a slot has 1 to 64 letters, digits, - and _');
  });

  it.each([
    [['move', 'meter1']],
    [['move', '--to', 'file']],
    [['move', 'meter1', '--from', 'file', '--slot', 'a']],
    [['move', '--from', 'file']],
  ])('moves nothing that goes nowhere: %j', async (words) => {
    expect(await run(words)).toMatchObject({
      exitCode: EXIT.usage,
      err: expect.stringContaining('move NAME --to FILE'),
    });
    expect(asked).toEqual([]);
  });

  it('stays where its file cannot be written', async () => {
    const file = join(folder, 'nowhere', 'file');
    expect(await run(['move', 'meter1', '--to', file])).toMatchObject({
      exitCode: EXIT.usage,
      err: expect.stringContaining('ENOENT'),
    });
    expect(asked).toEqual([]);
  });
});
