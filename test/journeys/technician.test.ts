/** A technician with a box: the questions of `init` with a slip of the finger, the checks, the first run, and a claim that a customer takes up. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AGENT_PROGRAM } from '../support/agent-program.ts';
import { type BoardBench, openBoardBench } from '../support/board-bench.ts';
import { missingTerminal, Terminal } from '../support/terminal.ts';

const KEY = 'profile-key-of-the-boxes';
const SECRET = 'profile-secret-of-the-boxes';
const NAME = 'box-{hostname}';
/** A command starts in half a second; with everything else that runs beside it here. */
const ANSWERS_WITHIN_MS = 30_000;
const GOOD_WITHIN_MS = 60_000;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Opens a terminal on a box on which `turnstone` is installed. */
async function openTerminal(bin: string, cwd: string): Promise<Terminal> {
  const terminal = await Terminal.open({ cwd, environment: { PATH: `${bin}:${process.env.PATH}` } });
  closing.push(() => terminal.close());
  return terminal;
}

/** Puts `turnstone` on the path, and resolves with its folder. */
async function installed(folder: string): Promise<string> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'turnstone'), `#!/bin/sh\nexec '${process.execPath}' '${AGENT_PROGRAM}' "$@"\n`);
  await chmod(join(bin, 'turnstone'), 0o755);
  return bin;
}

async function claimAsCustomer(url: string, device: string, secretKey: string): Promise<unknown> {
  const send = async (path: string, body: object, token?: string): Promise<unknown> => {
    const headers = {
      'content-type': 'application/json',
      ...(token !== undefined && { 'x-authorization': `Bearer ${token}` }),
    };
    return (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
  };
  const { token } = (await send('/api/auth/login', { username: 'customer@thingsboard.org', password: 'customer' })) as {
    token: string;
  };
  return send(`/api/customer/device/${encodeURIComponent(device)}/claim`, { secretKey }, token);
}

describe.skipIf(missingTerminal() !== undefined)('a technician', () => {
  it('sets a box up, mistypes the address once, and has it claimed', { timeout: 300_000 }, async () => {
    const platform = await LocalPlatform.start({ port: 0 });
    closing.push(() => platform.close());
    platform.allowProvisioning({ key: KEY, secret: SECRET, profile: 'boxes' });
    const signals = { temperature: { kind: 'constant', value: 21 } } as const;
    const board: BoardBench = await openBoardBench(() => ({
      i2c: [{ bus: 1, chips: [{ kind: 'mcp9808', address: 0x18, signals }] }],
    }));
    closing.push(() => board.close());
    const bin = await installed(board.folder);
    const terminal = await openTerminal(bin, board.folder);
    const startedMs = performance.now();

    const folders = `--state-folder ${board.folder}/state --run-folder ${board.folder}/run`;
    await terminal.type(`turnstone init --simulate ${board.socketPath} ${folders} --out box.yaml`);
    await terminal.see(/^Address of the platform[^\n]*:$/m, ANSWERS_WITHIN_MS);
    await terminal.type(platform.url.replace('//', '/'));
    await terminal.see(/expected a URL[\s\S]*^Address of the platform[^\n]*:$/m, ANSWERS_WITHIN_MS);
    await terminal.type('http://127.0.0.1:1');
    await terminal.see(/127\.0\.0\.1:1 refuses connections[\s\S]*keep it all the same/, ANSWERS_WITHIN_MS);
    await terminal.type('');
    await terminal.see(/keep it all the same[^\n]*\n[\s\S]*^Address of the platform[^\n]*:$/m, ANSWERS_WITHIN_MS);
    await terminal.type(platform.url);
    await terminal.see(/the platform answers[\s\S]*\(p\)rovision/, ANSWERS_WITHIN_MS);
    await terminal.type('');
    await terminal.see(/^Provision key/m, ANSWERS_WITHIN_MS);
    await terminal.type(KEY);
    await terminal.see(/^Provision secret/m, ANSWERS_WITHIN_MS);
    await terminal.type(SECRET);
    await terminal.see(/^Device name/m, ANSWERS_WITHIN_MS);
    await terminal.type(NAME);
    await terminal.see(/^May this configuration be changed from afar/m, ANSWERS_WITHIN_MS);
    await terminal.type('');
    await terminal.see(/^read +mcp9808 +temperature 21 °C[\s\S]*^wrote[\s\S]*^> $/m, ANSWERS_WITHIN_MS);
    expect(await terminal.screen()).not.toMatch(new RegExp(`${KEY}|${SECRET}`));

    expect(await terminal.run('turnstone check-config box.yaml', ANSWERS_WITHIN_MS)).toMatch(/: good/);

    const second = await openTerminal(bin, board.folder);
    await second.type('turnstone run --config box.yaml');
    await second.see(/the agent runs/, ANSWERS_WITHIN_MS);
    await expect
      .poll(() => terminal.run('turnstone status --config box.yaml', ANSWERS_WITHIN_MS), {
        timeout: GOOD_WITHIN_MS,
        interval: 500,
      })
      .toMatch(/^platform +up to date$[\s\S]*Temperature: 21\.0 °C/m);

    await terminal.clear();
    await terminal.type('turnstone claim --config box.yaml --duration 10m');
    const [, device = ''] = await terminal.see(/^device +(\S+)$/m, ANSWERS_WITHIN_MS);
    const [, secret = ''] = await terminal.see(/^secret +(\S+)$/m);
    expect(await claimAsCustomer(platform.url, device, secret)).toMatchObject({ response: 'SUCCESS' });
    const tookSeconds = Math.round((performance.now() - startedMs) / 1_000);
    console.log(`from the box to a claimed device: ${tookSeconds} s`);

    await second.press('C-c');
    await second.see(/^> $/m, ANSWERS_WITHIN_MS);
  });
});
