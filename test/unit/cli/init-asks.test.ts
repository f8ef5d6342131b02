import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { firstConfigText } from '../../../src/cli/first-config.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { markSilent, trySensors } from '../../../src/cli/init-trial.ts';
import { loadConfig } from '../../../src/config/read-config.ts';
import { LocalPlatform } from '../../../src/stand-ins/local-platform/local-platform.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

/** Nobody listens there. */
const NOBODY = 'http://127.0.0.1:1';
const TOKEN = 'token-of-the-box';

let platform: LocalPlatform;
let folder: string;
let file: string;

beforeAll(async () => {
  platform = await LocalPlatform.start({ port: 0 });
  platform.ensureDevice('box', TOKEN);
});
afterAll(() => platform.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-init-asks-'));
  file = join(folder, 'turnstone.yaml');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function answering(answers: readonly string[], flags: readonly string[] = []) {
  const edge = fakeEdge({ answers });
  const exitCode = await runCommandLine(['init', '--no-scan', '--out', file, ...flags], { edge, version: () => '' });
  return { exitCode, err: edge.err(), out: edge.out(), asked: edge.asked };
}

describe('turnstone init, asking', () => {
  it('asks again for an address that is none, and for a token that the platform does not know', async () => {
    const { exitCode, err, out, asked } = await answering([
      'iot.example.org',
      platform.url,
      't',
      'two words',
      'wrong-token',
      TOKEN,
    ]);
    expect(exitCode).toBe(EXIT.ok);
    expect(asked.map((question) => question.split(/[ :]/)[0])).toEqual([
      'Address',
      'Address',
      'Does',
      'Access',
      'Access',
      'Access',
      'May',
    ]);
    expect(err.split('\n').map((line) => line.trim())).toEqual([
      'expected a URL beginning with http:// or https://, without user, password, ? or #',
      'the platform answers',
      'expected an access token: 1 to 255 letters, digits and signs, without blanks or line ends',
      expect.stringMatching(/^the platform does not know this device’s access token \(401\); compare the token/),
      'the platform knows this token',
      '',
    ]);
    expect(err + out + (await readFile(file, 'utf8'))).not.toMatch(/two words|wrong-token|token-of-the-box/);
    expect((await loadConfig(file, { environment: {} })).platform.accessToken?.reveal()).toBe(TOKEN);
  });

  it('says why an address is not reached, and keeps it for whoever wants that', async () => {
    const { exitCode, err, asked } = await answering([NOBODY, '', NOBODY, 'y', 'l']);
    expect(exitCode).toBe(EXIT.ok);
    expect(err).toContain('127.0.0.1:1 refuses connections; check the port in platform.url; is the platform up?');
    expect(asked.filter((question) => question.includes('keep it all the same? [y/N]'))).toHaveLength(2);
    expect((await loadConfig(file, { environment: {} })).platform.url).toBe(NOBODY);
  });

  it('tries no token where the platform is not reached', async () => {
    expect(await answering([NOBODY, 'y', 't', 'any-token'])).toMatchObject({ exitCode: EXIT.ok, asked: { length: 5 } });
  });

  it.each([
    ['the address of the platform', []],
    ['Access token', ['URL', 't']],
    ['Provision secret', ['URL', 'p', 'a-key']],
  ])('ends after three empty answers for %s', async (subject, answers) => {
    const { exitCode, err } = await answering(answers.map((answer) => answer.replace('URL', platform.url)));
    expect(exitCode).toBe(EXIT.usage);
    expect(err).toMatch(
      new RegExp(
        `turnstone: ${subject} is missing: nothing was typed 3 times; start again, or give it as a flag.*\\n$`,
      ),
    );
    await expect(readFile(file)).rejects.toThrow('ENOENT');
  });

  it('judges a device name, and says what this board is called by it', async () => {
    const { exitCode, err } = await answering([
      platform.url,
      'p',
      'key',
      'secret',
      'box-{colour}',
      'box<1>',
      'box-{hostname}',
    ]);
    expect(exitCode).toBe(EXIT.ok);
    expect(err).toContain('{colour} is not known; there are {serial}, {mac}, {machineId}, {hostname}');
    expect(err).toContain('expected a device name of 1 to 255 characters');
    expect(err).toMatch(/this board is box-[^{\n]+\n/);
    expect((await loadConfig(file, { environment: {} })).provisioning?.deviceName).toBe('box-{hostname}');
  });

  it('asks nobody on the way with --no-try', async () => {
    const { exitCode, err } = await answering([NOBODY, 't', 'any-token'], ['--no-try']);
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.ok, err: '' });
  });
});

describe('a first configuration that is tried', () => {
  let bench: BoardBench;
  beforeEach(async () => {
    const signals = { temperature: { kind: 'constant', value: 21 } } as const;
    bench = await openBoardBench(() => ({ i2c: [{ bus: 1, chips: [{ kind: 'mcp9808', address: 0x18, signals }] }] }));
  });
  afterEach(() => bench.close());

  it('has the reading of who answers, and a comment in the place of who does not', async () => {
    const chip = (kind: 'mcp9808' | 'tmp102', address: number) => ({
      bus: 1,
      address,
      guess: { kind, isCertain: true },
    });
    const found = {
      chips: [chip('mcp9808', 0x18), chip('tmp102', 0x49)],
      thermometers: [],
      serialPorts: [],
      faults: [],
    };
    const text = firstConfigText({
      url: platform.url,
      credentials: { way: 'later' },
      boardSocket: bench.socketPath,
      found,
    });
    await writeFile(file, text);
    const tried = await trySensors(await loadConfig(file, { environment: {} }), fakeEdge());
    expect(tried).toEqual([
      { name: 'mcp9808', readings: [{ key: 'temperature', text: '21 °C' }] },
      { name: 'tmp102', readings: [], fault: expect.stringMatching(/\S/), isOff: true },
    ]);
    await writeFile(file, markSilent(text, tried));
    expect((await loadConfig(file, { environment: {} })).sensors.map(({ name }) => name)).toEqual([
      'machine',
      'mcp9808',
    ]);
    expect(await readFile(file, 'utf8')).toMatch(
      /# It gave no reading when it was tried: \S.*\n {2}# - \{ name: tmp102, kind: tmp102, bus: 1/,
    );
  });

  it('keeps a meter that has not spoken, with a word about it', () => {
    const text =
      'devices:\n  - { name: meter }\nsensors:\n  - { name: host, kind: host }\n  - { name: meter, kind: sml, port: /dev/ttyUSB0 }\n';
    const marked = markSilent(text, [{ name: 'meter', readings: [], fault: 'it is silent', isOff: false }]);
    expect(marked).toBe(
      text.replace(
        '  - { name: meter, ',
        '  # It gave no reading when it was tried: it is silent\n  - { name: meter, ',
      ),
    );
  });
});
