/**
 * Pictures of the papers, from the real page and terminal: `npm run pictures [-- --out FOLDER] [-- --only NAME]`, by default docs/pictures.
 *
 *   page-*.png       the page in states of a made-up greenhouse, on a desk and a phone, light and dark
 *   turnstone.webp   the moving picture of the README, joined from frames by img2webp (Debian's package webp)
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { launchBrowser } from '../test/support/browser.ts';
import { GREENHOUSE_PIN, Greenhouse } from '../test/support/greenhouse.ts';
import { StatusBench } from '../test/support/status-bench.ts';
import { PAGE_FACTS, PAGE_STATES, swingingSeries } from './screens/page-states.ts';
import { terminalScreens } from './screens/terminal.ts';

const DESK = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
/** Until the stream has told twice, and lines are drawn. */
const DRAWN_AFTER_MS = 2_500;
/** Terminal and phone, side by side. */
const MOVING = { width: 1080, height: 844 };
const FRAME_MS = 900;
/** Quality of the frames, of 100. */
const QUALITY = '55';

interface Picture {
  readonly name: string;
  readonly context: BrowserContextOptions;
  /** State of `screens/page-states.ts`; the greenhouse where there is none. */
  readonly state?: string;
  /** Opens the plot of a key. */
  readonly plot?: string;
  readonly isWhole?: boolean;
}

const PICTURES: readonly Picture[] = [
  { name: 'page-desk', context: { viewport: DESK } },
  { name: 'page-desk-dark', context: { viewport: DESK, colorScheme: 'dark' } },
  { name: 'page-phone', context: { viewport: PHONE } },
  { name: 'page-phone-dark', context: { viewport: PHONE, colorScheme: 'dark' } },
  { name: 'page-german', context: { viewport: PHONE, locale: 'de-DE' } },
  { name: 'page-plot', context: { viewport: PHONE }, plot: 'boilerTemperature' },
  { name: 'page-hundred-devices', context: { viewport: DESK }, state: 'hundred-devices', isWhole: true },
  { name: 'page-no-platform', context: { viewport: DESK }, state: 'alarm-without-platform' },
  { name: 'page-first-start', context: { viewport: DESK }, state: 'first-boot' },
];

const { values: flags } = parseArgs({
  options: {
    out: { type: 'string', default: resolve(import.meta.dirname, '../docs/pictures') },
    only: { type: 'string' },
  },
});
await mkdir(flags.out, { recursive: true });
const browser = await launchBrowser();
const site = await Greenhouse.open();
site.bench.series = swingingSeries;
const states = await StatusBench.open();
states.series = swingingSeries;
states.facts = PAGE_FACTS;
try {
  for (const picture of PICTURES.filter(({ name }) => flags.only === undefined || name === flags.only))
    await take(browser, picture);
  if (flags.only === undefined || flags.only === 'turnstone') await takeMoving(browser);
} finally {
  await browser.close();
  await site.bench.stop();
  await states.stop();
}

async function take(of: Browser, { name, context: options, state, plot, isWhole = false }: Picture): Promise<void> {
  const context = await of.newContext({ locale: 'en-GB', ...options });
  const page = await context.newPage();
  const view = state === undefined ? undefined : PAGE_STATES[state];
  if (view !== undefined) states.view = view;
  if (state === undefined) await enter(page);
  else await page.goto(states.url);
  await page.locator('#content').waitFor();
  await delay(DRAWN_AFTER_MS);
  if (plot !== undefined) {
    await page.locator(`button.reading[data-name=${plot}]`).click();
    await page.locator('#plot-area canvas').waitFor();
    await page.locator('#plot-alike').click();
    await delay(DRAWN_AFTER_MS);
  }
  await page.screenshot({ path: join(flags.out, `${name}.png`), fullPage: isWhole });
  process.stdout.write(`${join(flags.out, `${name}.png`)}\n`);
  await context.close();
}

async function enter(page: Page): Promise<void> {
  await page.goto(site.bench.url);
  await page.locator('#pin-input').fill(GREENHOUSE_PIN);
  await page.keyboard.press('Enter');
}

/** A technician looks at the terminal; then a person with a phone acknowledges an alarm, switches the pump for two hours, and compares temperatures. */
async function takeMoving(of: Browser): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-pictures-'));
  const context = await of.newContext({ viewport: PHONE, locale: 'en-GB' });
  const page = await context.newPage();
  const canvas = await (await of.newContext({ viewport: MOVING })).newPage();
  const frames: { readonly path: string; readonly ms: number }[] = [];
  const screens = await terminalScreens([['check-config'], ['actuate', 'fan', 'on', '--for', '2h'], ['status']]);
  let shown = '';
  const shoot = async (ms: number): Promise<void> => {
    const phone = (await page.screenshot()).toString('base64');
    const path = join(folder, `${frames.length}.png`);
    await canvas.setContent(frameOf(shown, phone));
    await canvas.screenshot({ path });
    frames.push({ path, ms });
  };
  try {
    await enter(page);
    await page.locator('#content').waitFor();
    await delay(DRAWN_AFTER_MS);
    for (const screen of screens) {
      shown = `${shown}${screen}\n`;
      await shoot(2 * FRAME_MS);
    }
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText(/Acknowledged on the page/).waitFor();
    await shoot(2 * FRAME_MS);
    await page.getByRole('switch', { name: 'Irrigation pump (pump)' }).click();
    await shoot(FRAME_MS);
    await page.getByRole('dialog').locator('select').selectOption('2h');
    await shoot(2 * FRAME_MS);
    await page.getByRole('button', { name: 'Yes, switch' }).click();
    await page.locator('.actuator.on[data-name=pump]').waitFor();
    await shoot(2 * FRAME_MS);
    await page.locator('#readings-title').evaluate((element) => element.scrollIntoView());
    await shoot(2 * FRAME_MS);
    await page.locator('button.reading[data-name=boilerTemperature]').click();
    await page.locator('#plot-area canvas').waitFor();
    await delay(DRAWN_AFTER_MS);
    await shoot(2 * FRAME_MS);
    await page.locator('#plot-alike').click();
    await delay(DRAWN_AFTER_MS);
    await shoot(4 * FRAME_MS);
    const args = frames.flatMap(({ path, ms }) => ['-d', String(ms), path]);
    const out = join(flags.out, 'turnstone.webp');
    await promisify(execFile)('img2webp', ['-loop', '0', '-lossy', '-q', QUALITY, '-m', '6', ...args, '-o', out]);
    process.stdout.write(`${out}\n`);
  } finally {
    await context.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The terminal beside the phone. */
function frameOf(terminal: string, phone: string): string {
  return `<style>
body { margin: 0; display: grid; grid-template-columns: 1fr 390px; height: 844px; background: #10151b; }
pre { margin: 0; padding: 16px; font: 11px/1.5 ui-monospace, monospace; color: #d7dde4; white-space: pre-wrap; }
b, .bold { color: #fff; font-weight: 700; } .dim { color: #9aa5b1; } .good { color: #6fe08f; } .warn { color: #ffc069; } .bad { color: #ff9aa2; }
</style><body><pre>${terminal}</pre><img src="data:image/png;base64,${phone}" width="390" height="844"></body>`;
}
