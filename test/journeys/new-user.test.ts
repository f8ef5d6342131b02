/** A new user with the README alone: the first command of its first part, to a reading on the platform. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { missingTerminal, Terminal } from '../support/terminal.ts';

const ROOT = join(import.meta.dirname, '../..');
/** With a set-up that is done; a first one takes minutes. */
const STARTS_WITHIN_MS = 90_000;

let terminal: Terminal | undefined;
afterEach(() => terminal?.close());

describe.skipIf(missingTerminal() !== undefined)('a new user', () => {
  it('types the first command of the README, reads what arrives, and finds it on the platform', {
    timeout: 300_000,
  }, async () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const [, command = ''] = /^```sh\n(.*)\n/m.exec(readme) ?? [];
    terminal = await Terminal.open({ cwd: ROOT });
    const startedMs = performance.now();
    await terminal.type(command);
    await terminal.see(/^\d\d:\d\d:\d\d\.\d{3}\s+.*roomTemperature=\d/m, STARTS_WITHIN_MS);
    const tookSeconds = Math.round((performance.now() - startedMs) / 1_000);
    console.log(`from the README to a reading on the platform: ${tookSeconds} s`);
    const [, platform = ''] = await terminal.see(/(http:\/\/[\w.:]+)/);
    expect((await fetch(platform)).status).toBe(200);
    await terminal.press('C-c');
    await terminal.see(/^> $/m, 60_000);
    expect(await terminal.screen()).toMatch(/0 missing|nothing.*missing|missing\s+0/);
  });
});
