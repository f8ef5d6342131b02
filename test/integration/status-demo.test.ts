/** The demo's two windows in a real browser: a person switches the relay on the platform's page, and sees it move on the device's; the board is the witness. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AGENT_PROGRAM } from '../support/agent-program.ts';
import { browserSuite, launchBrowser, missingBrowser, WatchedPage } from '../support/browser.ts';

const DEMO = join(import.meta.dirname, '../../scripts/demo.ts');
const STARTS_WITHIN_MS = 60_000;

describe.skipIf(missingBrowser() !== undefined)(browserSuite('the demo'), () => {
  let browser: Browser;
  let demo: ChildProcess;
  let printed = '';

  beforeAll(async () => {
    demo = spawn(process.execPath, [DEMO], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TURNSTONE_DEMO_PROGRAM: AGENT_PROGRAM },
    });
    demo.stdout?.on('data', (piece: Buffer) => {
      printed += piece.toString();
    });
    browser = await launchBrowser();
    await vi.waitFor(() => expect(printed).toMatch(/^agent .*--run-folder/m), { timeout: STARTS_WITHIN_MS });
  }, STARTS_WITHIN_MS);

  afterAll(async () => {
    await browser?.close();
    const ended = new Promise((resolve) => demo.once('close', resolve));
    demo.kill('SIGINT');
    await ended;
  });

  const address = (name: string): string => new RegExp(`^${name} +(http://\\S+)`, 'm').exec(printed)?.[1] ?? '';

  /** Returns the pin's values at the board, oldest first; it writes its record a little later. */
  async function relayOfBoard(): Promise<number[]> {
    const folder = dirname(/--run-folder (\S+)/.exec(printed)?.[1] ?? '');
    const text = await readFile(join(folder, 'board-record.jsonl'), 'utf8').catch(() => '');
    const records = text.split('\n').filter((line) => line.includes('"RELAY"'));
    return records.map((line) => (JSON.parse(line) as { value: number }).value);
  }

  it('shows the relay move on the status page, and at the board, when it is switched on the platform page', async () => {
    const context = await browser.newContext();
    const platform = await WatchedPage.open(context);
    const device = await WatchedPage.open(context);
    await device.page.goto(address('device'));
    const relay = device.page.locator('.actuator', { hasText: 'Relay' }).locator('.head .state');
    await expect.poll(() => relay.textContent(), { timeout: STARTS_WITHIN_MS }).toBe('off');
    await expect.poll(async () => (await relayOfBoard()).at(-1), { timeout: 10_000 }).toBe(0);

    await platform.page.goto(address('platform'));
    await platform.page.getByLabel('Password').fill('tenant');
    await platform.page.getByRole('button', { name: 'Log in' }).click();
    const toggle = platform.page.getByRole('switch', { name: /^relay/ });
    await toggle.click({ timeout: 30_000 });

    await expect.poll(() => relay.textContent(), { timeout: 10_000 }).toBe('on');
    await expect.poll(async () => (await relayOfBoard()).at(-1), { timeout: 10_000 }).toBe(1);
    expect(await toggle.getAttribute('aria-checked')).toBe('true');

    await toggle.click();
    await expect.poll(() => relay.textContent(), { timeout: 10_000 }).toBe('off');
    await expect.poll(async () => (await relayOfBoard()).at(-1), { timeout: 10_000 }).toBe(0);

    await platform.page.getByRole('button', { name: /^roomTemperature/ }).waitFor();
    await device.page.getByRole('button', { name: /^Room temperature .* °C/i }).waitFor();
    expect(await device.violations()).toEqual([]);
    platform.expectClean();
    device.expectClean();
  }, 120_000);
});
