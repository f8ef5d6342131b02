/**
 * People at the page in a real browser. With a real agent over a simulated board: why is the pump off, by keyboard alone on a phone of 320 pixels, behind
 * the PIN, over a lost contact. With a week of made-up readings: last Tuesday, in German, what is saved of it, and 120 values with long names.
 */
import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { PAGE_STATES } from '../../scripts/screens/page-states.ts';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { openBoardBench } from '../support/board-bench.ts';
import { browserSuite, launchBrowser, missingBrowser, WatchedPage } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { StatusBench } from '../support/status-bench.ts';

const PHONE = { width: 320, height: 640 };
const WITHIN_MS = 30_000;
const DAY_MS = 86_400_000;
const PIN = '471199';
const LONG_NAME = 'temperatureOfTheNorthWesternCornerOfTheSecondColdRoomBehindTheLoadingRamp';
/** One word, which a line can end in only where it must. */
const LONG_LABEL = 'Nordwestkühlraumladerampentemperaturüberwachungseinrichtung';
/** Every text whose contrast counts in the sun. */
const IN_THE_SUN = '#verdict, .value, .actuator .state, .actuator .why, .sensor .state, .notice, .key';

/** Lowest ratio of a text's colour to what lies behind it. */
const LOWEST_CONTRAST = `(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = (colour) => rgb(colour).slice(0, 3).map((one) => one / 255).map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (element) => element === null ? 'rgb(255, 0, 255)' : rgb(getComputedStyle(element).backgroundColor)[3] === 255
    ? getComputedStyle(element).backgroundColor : ground(element.parentElement);
  const shown = [...document.querySelectorAll('${IN_THE_SUN}')].filter((one) => one.checkVisibility() && one.textContent.trim() !== '');
  const ratios = shown.map((one) => [light(getComputedStyle(one).color), light(ground(one))].sort((a, b) => b - a)).map(([a, b]) => (a + 0.05) / (b + 0.05));
  return { count: ratios.length, lowest: Math.min(...ratios) };
})()`;

describe.skipIf(missingBrowser() !== undefined)(browserSuite('a person at the page'), () => {
  let browser: Browser;
  let context: BrowserContext;
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
  });

  afterEach(async () => {
    await context?.close();
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function open(url: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<WatchedPage> {
    context = await browser.newContext({ acceptDownloads: true, ...options });
    const watched = await WatchedPage.open(context);
    await watched.page.goto(url);
    return watched;
  }

  /** Presses Tab until the element has the focus. */
  async function tabTo(page: Page, element: Locator): Promise<void> {
    for (let press = 0; press < 60; press += 1) {
      if (
        await element.evaluate(
          (node) =>
            node === (node as unknown as { ownerDocument: { activeElement: unknown } }).ownerDocument.activeElement,
        )
      )
        return;
      await page.keyboard.press('Tab');
    }
    throw new Error('no Tab leads there');
  }

  async function saved(page: Page, button: Locator): Promise<{ readonly name: string; readonly bytes: Buffer }> {
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  }

  /** Sound for axe, and values have 7 to 1, in both colours. */
  async function expectSound(watched: WatchedPage): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await watched.page.emulateMedia({ colorScheme });
      expect(await watched.violations()).toEqual([]);
      const { count, lowest } = (await watched.page.evaluate(LOWEST_CONTRAST)) as {
        readonly count: number;
        readonly lowest: number;
      };
      expect(count).toBeGreaterThan(0);
      expect(lowest).toBeGreaterThanOrEqual(7);
    }
    const { width } = watched.page.viewportSize() ?? PHONE;
    expect(await watched.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  }

  it('finds why the pump is off by keyboard alone, is refused with the reason, and stays over a lost contact', {
    timeout: 180_000,
  }, async () => {
    const platform = await LocalPlatform.start();
    closing.push(() => platform.close());
    platform.ensureDevice('cellar', 'page-journey-token');
    const signals = { temperature: { kind: 'constant', value: 7.25 } } as const;
    const board = await openBoardBench(() => ({
      gpio: [{ chip: 'gpiochip0', label: 'simulated', names: { 17: 'PUMP' } }],
      i2c: [{ bus: 1, chips: [{ kind: 'mcp9808', address: 0x18, signals }] }],
    }));
    closing.push(() => board.close());
    const url = `http://127.0.0.1:${await freePort()}`;
    const agent = await AgentProcess.make(
      configFor({ url, platformUrl: platform.url, boardSocket: board.socketPath }),
      'CELLAR-1',
    );
    closing.push(() => agent.remove());
    agent.start();
    await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), {
      timeout: WITHIN_MS,
      interval: 200,
    });

    const watched = await open(url, { viewport: PHONE });
    const { page } = watched;
    const enterPin = async (): Promise<void> => {
      const field = page.locator('#pin-input');
      await field.waitFor({ timeout: WITHIN_MS });
      expect(await field.getAttribute('inputmode')).toBe('numeric');
      expect(await page.evaluate('document.activeElement.id')).toBe('pin-input');
      await page.keyboard.type(PIN);
      await page.keyboard.press('Enter');
    };
    await enterPin();
    await page.getByText('Cellar temperature is above 5 °C (flooded)', { exact: true }).waitFor();
    expect(await page.locator('#alarm-list li').textContent()).toMatch(/7\.3 °C.*It moves pump\./);
    await tabTo(page, page.locator('.actuator summary'));
    await page.keyboard.press('Enter');
    await page.getByText(/^off, because rule dryRun/).waitFor();
    await page.getByRole('rowheader', { name: 'protecting rule Dry run' }).waitFor();
    await tabTo(page, page.getByRole('button', { name: 'On', exact: true }));
    await page.keyboard.press('Enter');
    await page.getByText(/^Not done: .*dryRun/).waitFor();
    await expectSound(watched);

    await page.locator('#happened > summary').click();
    await page.locator('.event').first().waitFor();
    const csv = await saved(page, page.locator('#happened-csv'));
    expect(csv.bytes.toString()).toMatch(/^\d+,\d{4}-\d\d-\d\dT[\d:.]+Z,(?:true|false),alarm,.*cellarTemperature/m);

    await agent.stop('SIGKILL');
    await page.getByText('No contact with the agent; trying again').waitFor({ timeout: WITHIN_MS });
    await page.getByText(/What is shown was so .* ago\./).waitFor();
    agent.start();
    // A session is the agent's that gave it.
    await enterPin();
    await page.getByText('Cellar temperature is above 5 °C (flooded)', { exact: true }).waitFor({ timeout: WITHIN_MS });
    expect(await page.locator('body.offline').count()).toBe(0);
    watched.expectClean();
  });

  it('zooms into last Tuesday in German, and saves the table with points and UTC, and the picture', async () => {
    const bench = await StatusBench.open();
    closing.push(() => bench.stop());
    const asked: { readonly fromMs: number; readonly toMs: number }[] = [];
    bench.series = async ({ keys, fromMs, toMs, points }) => {
      if (points > 80) asked.push({ fromMs, toMs });
      const times = Array.from({ length: 60 }, (_, at) => Math.round(fromMs + ((toMs - fromMs) * at) / 60));
      return Object.fromEntries(keys.map((key) => [key, [times, times.map((_, at) => 20.5 + (at % 10))] as const]));
    };
    const { page, faults } = await open(bench.url, { locale: 'de-DE', timezoneId: 'Europe/Berlin' });
    await page.getByRole('button', { name: /^Roof Temperature/i }).click();
    await page.getByText('Kleinster Wert 20,5 °C, größter 29,5 °C, letzter 29,5 °C.').waitFor();
    await page.getByLabel('Zeitraum', { exact: true }).selectOption('7 Tage');
    await expect.poll(() => asked.some(({ fromMs, toMs }) => toMs - fromMs >= 7 * DAY_MS)).toBe(true);
    const tuesday = lastTuesday();
    await page.getByLabel('Zeitraum', { exact: true }).selectOption('1 Stunde');
    await page.locator('#plot-from').fill(`${tuesday}T08:00`);
    const wanted = await page.evaluate(`new Date('${tuesday}T08:00').getTime()`);
    await expect.poll(() => asked.at(-1)?.fromMs).toBe(wanted);
    await page.locator('#plot-area[aria-busy]').waitFor({ state: 'detached' });
    await page.locator('#plot-area').focus();
    await page.keyboard.press('Home');
    const [year, month, day] = tuesday.split('-');
    await expect
      .poll(() => page.locator('#plot-at').textContent())
      .toContain(`${day}.${month}.${year}, 08:00:00: 20,5 °C`);
    const csv = await saved(page, page.getByRole('button', { name: 'Als CSV speichern' }));
    expect(csv.bytes.toString().split('\r\n')[1]).toBe(`${new Date(Number(wanted)).toISOString()},20.5`);
    const png = await saved(page, page.getByRole('button', { name: 'Als PNG speichern' }));
    expect(png.bytes.subarray(1, 4).toString()).toBe('PNG');
    expect(faults).toEqual([]);
  });

  it.each(['alarm', 'no-contact', 'lockout', 'fault', '120-keys', 'many-devices'])(
    'reads it in the sun, on 320 pixels and a desktop, whatever the names: %s',
    { timeout: 60_000 },
    async (state) => {
      const bench = await StatusBench.open();
      closing.push(() => bench.stop());
      const shown = PAGE_STATES[state];
      if (shown === undefined) throw new Error(`no state ${state}`);
      bench.view = (nowMs, wallMs) => {
        const view = shown(nowMs, wallMs);
        const of = { kind: 'modbus', state: 'ok' as const };
        const read = { key: LONG_NAME, value: 123_456.75, unit: 'kWh', atMs: nowMs };
        return {
          ...view,
          deviceName: LONG_NAME,
          sensors: [
            { ...of, name: LONG_NAME, readings: [read] },
            { ...of, name: 'labelled', label: LONG_LABEL, readings: [{ ...read, label: LONG_LABEL }] },
            ...view.sensors,
          ],
          actuators: view.actuators.map((output) => ({ ...output, label: LONG_LABEL })),
          alarms: view.alarms?.map((alarm) => ({ ...alarm, keyLabel: LONG_LABEL, label: LONG_LABEL })),
        };
      };
      const watched = await open(bench.url, { viewport: PHONE });
      for (const name of [/^Temperature of the north western/, new RegExp(`^${LONG_LABEL}`)])
        await watched.page.getByRole('button', { name }).waitFor();
      // A large value leaves room for its label.
      const label = await watched.page.locator('.reading .key', { hasText: LONG_LABEL }).boundingBox();
      expect(label?.width).toBeGreaterThanOrEqual(80);
      await expectSound(watched);
      await watched.page.setViewportSize({ width: 1_280, height: 900 });
      await expectSound(watched);
      watched.expectClean();
    },
  );
});

/** The last one that is whole. */
function lastTuesday(): string {
  const at = new Date(Date.now() - DAY_MS);
  while (at.getUTCDay() !== 2) at.setUTCDate(at.getUTCDate() - 1);
  return at.toISOString().slice(0, 10);
}

function configFor({
  url,
  platformUrl,
  boardSocket,
}: Readonly<Record<'url' | 'platformUrl' | 'boardSocket', string>>): string {
  return `version: 1
platform: { url: "${platformUrl}", accessToken: page-journey-token }
time: { trust: always }
hardware: { board: simulated, boardSocket: ${boardSocket} }
outbox: { commitAge: 1s }
status: { page: loopback, port: ${new URL(url).port}, pin: "${PIN}", control: true }
sensors:
  - name: cellar
    kind: mcp9808
    bus: 1
    address: 0x18
    period: 1s
    keys: { temperature: { rename: cellarTemperature, alarms: [{ above: 5, name: flooded }] } }
actuators:
  - { name: pump, kind: gpio-output, line: PUMP, safe: { start: off, stop: off } }
rules:
  - name: dryRun
    when: { sensor: cellar, key: cellarTemperature, above: 5 }
    set: { actuator: pump, value: off }
    protect: true
    sensorLost: off
`;
}
