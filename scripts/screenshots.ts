/**
 * Pictures of each page, on a phone and on a desktop, light and dark: `npm run screenshots [-- --out FOLDER]`, by default build/screenshots.
 * The demo's own pages after half a minute of readings, and the status page in each of its states.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../test/support/browser.ts';
import { StatusBench } from '../test/support/status-bench.ts';
import { PAGE_FACTS, PAGE_STATES, PLOT_STATES, RIGHT_TO_LEFT, swingingSeries } from './screens/page-states.ts';

const READINGS_FOR_MS = 30_000;
const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } } as const;
const SMALL = { ...SIZES, 'small-phone': { width: 320, height: 568 } } as const;
/** Until the stream has told twice, and lines are drawn. */
const DRAWN_AFTER_MS = 2_500;

const { values: flags } = parseArgs({
  options: { out: { type: 'string', default: resolve(import.meta.dirname, '../build/screenshots') } },
});
await mkdir(flags.out, { recursive: true });
const demo = spawn(process.execPath, [join(import.meta.dirname, 'demo.ts')], { stdio: ['ignore', 'pipe', 'inherit'] });
const ended = new Promise((done) => demo.once('close', done));
const browser = await launchBrowser();
const bench = await StatusBench.open({ page: 'lan', pin: '471199' });
const states = await StatusBench.open();
states.series = swingingSeries;
states.facts = PAGE_FACTS;
try {
  for (const [state, view] of Object.entries(PAGE_STATES)) {
    states.view = view;
    await shootAll(browser, `page-${state}`, openStates, {
      sizes: state === 'alarm' || state === '120-keys' ? SMALL : SIZES,
    });
  }
  states.view = PAGE_STATES.alarm ?? states.view;
  await shootAll(browser, 'page-german', openUnfolded, { sizes: SMALL, locale: 'de-DE' });
  await shootAll(browser, 'page-german-plot', (page) => openPlot(page, ['coldRoomTemperature']), { locale: 'de-DE' });
  states.view = RIGHT_TO_LEFT;
  await shootAll(browser, 'page-right-to-left', openStates, { sizes: SMALL });
  states.view = PAGE_STATES.calm ?? states.view;
  for (const [state, { series, keys }] of Object.entries(PLOT_STATES)) {
    states.series = series;
    await shootAll(browser, `page-${state}-plot`, (page) => openPlot(page, keys), { sizes: SMALL });
  }
  const { platform, device } = await addressesOf(demo);
  await delay(READINGS_FOR_MS);
  await shootAll(browser, 'status', async (page) => {
    await page.goto(device);
    await page.locator('#verdict[data-state=good]').waitFor();
    await page.locator('button.reading polyline[points]').first().waitFor({ state: 'attached' });
  });
  await shootAll(browser, 'status-plot', async (page) => {
    await page.goto(device);
    await page.getByRole('button', { name: /^Room temperature/ }).click();
    await page.locator('#plot-area canvas').waitFor();
  });
  await shootAll(browser, 'status-pin', async (page) => {
    await page.goto(bench.url);
    await page.getByText('This page needs the PIN').waitFor();
  });
  await shootAll(browser, 'platform', async (page) => {
    await page.goto(platform);
    await page.getByLabel('Password').fill('tenant');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('switch', { name: /^relay/ }).click({ timeout: 30_000 });
    await page.getByText('answered').waitFor();
  });
} finally {
  await browser.close();
  await bench.stop();
  await states.stop();
  demo.kill('SIGINT');
  await ended;
}

async function openStates(page: Page): Promise<void> {
  await page.goto(states.url);
  await page.locator('#content').waitFor();
  await delay(DRAWN_AFTER_MS);
}

/** With an output and the gateway's own part opened. */
async function openUnfolded(page: Page): Promise<void> {
  await openStates(page);
  await page.locator('.actuator > summary').first().click();
  await page.locator('#gateway > summary').click();
  await page.locator('#happened > summary').click();
}

/** Presses the first key, adds the others, and points at a value. */
async function openPlot(page: Page, [first = '', ...more]: readonly string[]): Promise<void> {
  await page.goto(states.url);
  await page.locator(`button.reading[data-name=${first}]`).click();
  await page.locator('#plot-area canvas').waitFor();
  for (const key of more) {
    await page.getByLabel('Another value').selectOption(key);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.locator('#plot-lines li', { hasText: key }).waitFor();
  }
  await page.locator('#plot-area').focus();
  for (let press = 0; press < 3; press += 1) await page.keyboard.press('PageDown');
  await delay(300);
}

/** Keeps reading afterwards: a demo whose output nobody takes would stop. */
async function addressesOf({ stdout }: ChildProcess): Promise<{ readonly platform: string; readonly device: string }> {
  let text = '';
  stdout?.on('data', (piece: Buffer) => {
    text = (text + piece.toString()).slice(0, 4_096);
  });
  for (;;) {
    const address = (name: string): string | undefined => new RegExp(`^${name} +(http://\\S+)`, 'm').exec(text)?.[1];
    const [platform, device] = [address('platform'), address('device')];
    if (platform !== undefined && device !== undefined) return { platform, device };
    if (demo.exitCode !== null) throw new Error(`the demo ended:\n${text}`);
    await delay(100);
  }
}

interface ShootOptions {
  readonly sizes?: Readonly<Record<string, { readonly width: number; readonly height: number }>>;
  readonly locale?: string;
}

async function shootAll(
  withBrowser: Browser,
  name: string,
  prepare: (page: Page) => Promise<void>,
  { sizes = SIZES, locale = 'en-GB' }: ShootOptions = {},
): Promise<void> {
  for (const [size, viewport] of Object.entries(sizes)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await withBrowser.newContext({ viewport, colorScheme, locale });
      const page = await context.newPage();
      await prepare(page);
      const path = join(flags.out, `${name}-${size}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: !name.endsWith('plot') });
      process.stdout.write(`${path}\n`);
      await context.close();
    }
  }
}
