/** The plot of the status page in a real browser: spans, several keys, limits, switches, gaps, and what is saved of it. */
import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Series, SeriesQuery } from '../../src/history/plot-series.ts';
import type { StatusView } from '../../src/status/status-view.ts';
import { browserSuite, launchBrowser, missingBrowser, WatchedPage } from '../support/browser.ts';
import { StatusBench, workingView } from '../support/status-bench.ts';

const HOUR = 3_600_000;
/** A browser on a busy machine takes its time. */
const SOON = { timeout: 10_000 };
const PHONE = { width: 320, height: 640 };

/** A reading for each of sixty parts; the door opens for the second half. */
const sixty: StatusBench['series'] = async ({ keys, fromMs, toMs }) => {
  const times = Array.from({ length: 60 }, (_, at) => fromMs + ((toMs - fromMs) * at) / 60);
  const value = (key: string, at: number): number => (key === 'doorOpen' ? Number(at >= 30) : 20 + (at % 10));
  return Object.fromEntries(keys.map((key) => [key, [times, times.map((_, at) => value(key, at))] as const]));
};

describe.skipIf(missingBrowser() !== undefined)(browserSuite('the plot of the status page'), () => {
  let browser: Browser;
  let context: BrowserContext;
  let bench: StatusBench;
  let asked: SeriesQuery[];

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
  });

  afterEach(async () => {
    await context?.close();
    await bench?.stop();
  });

  /** Opens the page with more readings and a limit, and the plot of one key. */
  async function open(key: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<WatchedPage> {
    bench = await StatusBench.open();
    const alarms = [
      { name: 'hot', limit: 'above 27', above: 27, hysteresis: 0 },
      { name: 'below 3', limit: 'below 3', below: 3, hysteresis: 0 },
    ];
    bench.facts = {
      ...bench.facts,
      sensors: { roof: { periodMs: 10_000, readings: { roofTemperature: { isReported: true, alarms } } } },
    };
    asked = [];
    bench.series = async (query, signal) => {
      // Lines beside the values ask for few points.
      if (query.points > 80) asked.push(query);
      return await sixty(query, signal);
    };
    // One reading: a machine that is slow would add another to the plot before anybody has looked at it.
    let read: StatusView['sensors'] | undefined;
    bench.view = (nowMs, wallMs) => {
      const view = withMore(workingView(nowMs, wallMs));
      read ??= view.sensors;
      return { ...view, sensors: read };
    };
    context = await browser.newContext({ acceptDownloads: true, ...options });
    const watched = await WatchedPage.open(context);
    await watched.page.goto(bench.url);
    await watched.page.locator(`button.reading[data-name=${key}]`).click();
    await watched.page.locator('#plot-area canvas').waitFor();
    return watched;
  }

  const lengthMs = ({ fromMs, toMs }: SeriesQuery): number => toMs - fromMs;
  const last = (): SeriesQuery => {
    const query = asked.at(-1);
    if (query === undefined) throw new Error('nothing was asked');
    return query;
  };
  const lengthAsked = (): Promise<number> => Promise.resolve(Math.round(lengthMs(last()) / 60_000));
  const saved = async (page: Page, button: string): Promise<{ readonly name: string; readonly bytes: Buffer }> => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: button }).click(),
    ]);
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  };

  it('zooms and moves by keys and buttons, asks for the span that is shown, and goes back to now', async () => {
    const watched = await open('roofTemperature');
    const { page } = watched;
    expect(lengthMs(last())).toBeLessThan(HOUR + 100);
    await page.locator('#plot-area').focus();
    await page.keyboard.press('-');
    await expect.poll(lengthAsked, SOON).toBe(120);
    expect(await page.locator('#plot-span').inputValue()).toBe('');
    await page.keyboard.press('+');
    await expect.poll(lengthAsked, SOON).toBe(60);
    const { toMs } = last();
    await page.keyboard.press('Shift+ArrowLeft');
    await expect.poll(() => Math.round((toMs - last().toMs) / 60_000), SOON).toBe(30);
    await page.getByRole('button', { name: 'Back to now' }).click();
    await expect.poll(() => last().toMs >= toMs, SOON).toBe(true);
    await page.getByLabel('Span', { exact: true }).selectOption('7 days');
    await expect.poll(lengthAsked, SOON).toBe(7 * 24 * 60);
    watched.expectClean();
  });

  it('asks once for a row of moves, and goes to a date that is chosen', async () => {
    const { page } = await open('roofTemperature');
    const before = asked.length;
    // In one go: a busy machine would rest between presses of the mouse.
    await page.evaluate("for (let press = 0; press < 4; press += 1) document.getElementById('plot-earlier').click()");
    await expect.poll(() => asked.length, SOON).toBe(before + 1);
    await page.locator('#plot-from').fill('2026-03-03T08:00');
    const wanted = await page.evaluate("new Date('2026-03-03T08:00').getTime()");
    await expect.poll(() => last().fromMs, SOON).toBe(wanted);
  });

  it('zooms to what the pointer is drawn over, and by wheel with Ctrl', async () => {
    const { page } = await open('roofTemperature');
    const box = await page.locator('.u-over').boundingBox();
    if (box === null) throw new Error('there is no plot');
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width * 0.25, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, y, { steps: 4 });
    await page.mouse.up();
    await expect.poll(lengthAsked, SOON).toBe(15);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, 100);
    await page.keyboard.up('Control');
    await expect.poll(lengthAsked, SOON).toBe(19);
  });

  it('pinches with two fingers', async () => {
    const { page } = await open('roofTemperature', { viewport: PHONE, hasTouch: true });
    const box = await page.locator('.u-over').boundingBox();
    if (box === null) throw new Error('there is no plot');
    const session = await context.newCDPSession(page);
    const touch = async (type: 'touchStart' | 'touchMove' | 'touchEnd', shares: readonly number[]): Promise<void> => {
      const touchPoints = shares.map((share, id) => ({ x: box.x + box.width * share, y: box.y + 60, id }));
      await session.send('Input.dispatchTouchEvent', { type, touchPoints });
    };
    await touch('touchStart', [0.4]);
    await page.locator('#plot-at', { hasText: '°C' }).waitFor();
    await touch('touchStart', [0.4, 0.6]);
    await touch('touchMove', [0.3, 0.7]);
    await touch('touchEnd', []);
    await expect.poll(lengthAsked, SOON).toBe(30);
  });

  it('shows several keys with their last values, two units at most, and takes one away again', async () => {
    const watched = await open('roofTemperature');
    const { page } = watched;
    const add = async (key: string): Promise<void> => {
      await page.getByLabel('Another value').selectOption(key);
      await page.getByRole('button', { name: 'Add', exact: true }).click();
    };
    await add('roofPressure');
    await page.getByText('Roof pressure: least 20 hPa, greatest 29 hPa, last 29 hPa.').waitFor();
    const offered = await page.locator('#plot-add option').allTextContents();
    expect(offered).toContain('Door open');
    expect(offered).toContain('Cellar temperature');
    // A third unit has no axis.
    expect(offered).not.toContain('Roof humidity');
    await add('doorOpen');
    await add('cellarTemperature');
    await expect
      .poll(() => page.locator('#plot-lines .value').allTextContents(), SOON)
      .toEqual(['29 °C', '29 hPa', 'on', '29 °C']);
    expect(await page.locator('#plot-adding').isHidden()).toBe(true);
    await page.locator('#plot-area').focus();
    await page.keyboard.press('Home');
    await page
      .getByText(/: Roof temperature 20 °C, Roof pressure 20 hPa, Door open off, Cellar temperature 20 °C$/)
      .waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await watched.violations()).toEqual([]);
    }
    await page.getByRole('button', { name: 'Remove Roof pressure' }).click();
    expect(await page.locator('#plot-title').textContent()).toBe('Roof temperature, Door open, Cellar temperature');
    watched.expectClean();
  });

  it('says how often and how long a value was beyond its limit, and a switch was on', async () => {
    const { page } = await open('roofTemperature');
    const told = page.locator('#plot-limits li');
    await expect
      .poll(() => told.allTextContents(), SOON)
      .toEqual([
        expect.stringMatching(
          /^Roof temperature above 27 °C: hot: 6 times, for 1[12] min together, (since|last until) /,
        ),
        'Roof temperature below 3 °C: never in this span.',
      ]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /^Door open/ }).click();
    await page.getByText(/^On 1 time, for (29|30) min together, last on\.$/).waitFor();
  });

  it('shows a band of an old span, and says both values of a part', async () => {
    const { page } = await open('roofTemperature');
    const band = [
      [0.2, 0.4, 0.6],
      [20, 21, 22],
      [25, 26, 27],
    ];
    bench.series = async ({ keys, fromMs, toMs }) =>
      Object.fromEntries(keys.map((key) => [key, withTimes(band, fromMs, toMs)]));
    await page.getByLabel('Span', { exact: true }).selectOption('7 days');
    await page.getByText('Least 20 °C, greatest 27 °C, last 22 °C to 27 °C.').waitFor();
    await page.locator('#plot-area').focus();
    await page.keyboard.press('Home');
    await page.getByText(/: 20 °C to 25 °C$/).waitFor();
  });

  it('saves a table and a picture', async () => {
    const { page } = await open('roofTemperature');
    const csv = await saved(page, 'Save as CSV');
    expect(csv.name).toMatch(/^roofTemperature-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.csv$/);
    expect(csv.bytes.toString().split('\r\n').slice(0, 2)).toEqual([
      '\uFEFFtime,roofTemperature (°C)',
      expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z,20$/),
    ]);
    const png = await saved(page, 'Save as PNG');
    expect([png.name.endsWith('.png'), png.bytes.subarray(1, 4).toString()]).toEqual([true, 'PNG']);
  });

  it('keeps the picture when the agent does not answer, and says what to do', async () => {
    const { page } = await open('roofTemperature');
    bench.series = async () => {
      throw new Error('the disk is gone');
    };
    await page.getByLabel('Span', { exact: true }).selectOption('6 hours');
    await page.getByText('The readings could not be loaded. Choose a span to try again.').waitFor();
    expect(await page.locator('#plot-area canvas').count()).toBe(1);
  });

  it('is sound on a phone of 320 pixels, and each control is as high as a thumb', async () => {
    const watched = await open('roofTemperature', { viewport: PHONE });
    const { page } = watched;
    expect(
      await page.evaluate("document.getElementById('plot').scrollWidth <= document.getElementById('plot').clientWidth"),
    ).toBe(true);
    const boxes = await Promise.all(
      (await page.locator('#plot button:visible, #plot select:visible').all()).map((one) => one.boundingBox()),
    );
    expect(boxes.length).toBeGreaterThan(8);
    expect(boxes.filter((box) => box === null || box.height < 44)).toEqual([]);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await watched.violations()).toEqual([]);
    }
    watched.expectClean();
  });
});

function withMore(view: StatusView): StatusView {
  return {
    ...view,
    sensors: view.sensors.map((sensor) => ({
      ...sensor,
      readings: [
        ...sensor.readings,
        ...[
          ['roofPressure', 'hPa'],
          ['roofHumidity', '%'],
          ['cellarTemperature', '°C'],
        ].map(([key = '', unit = '']) => ({ key, unit, value: 29, atMs: view.nowMs - HOUR })),
      ],
    })),
  };
}

/** An answer for an old span; its times are shares of the span. */
function withTimes(
  [shares = [], ...values]: readonly (readonly number[])[],
  fromMs: number,
  toMs: number,
): Series[string] {
  return [shares.map((share) => fromMs + share * (toMs - fromMs)), ...values] as unknown as Series[string];
}
