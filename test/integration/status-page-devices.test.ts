/** The status page of a gateway with attached devices, in a real browser: groups, their states in words, and the search. */
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type DeviceStatus, devicesSummary } from '../../src/status/shape/device-status.ts';
import type { StatusView } from '../../src/status/status-view.ts';
import { attachedDevice } from '../support/attached-device-status.ts';
import { browserSuite, launchBrowser, missingBrowser, WatchedPage } from '../support/browser.ts';
import { StatusBench, workingView } from '../support/status-bench.ts';

describe.skipIf(missingBrowser() !== undefined)(browserSuite('the status page with attached devices'), () => {
  let browser: Browser;
  let context: BrowserContext;
  let bench: StatusBench;

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

  async function open(devices: (nowMs: number) => readonly DeviceStatus[], width = 1_200): Promise<WatchedPage> {
    bench = await StatusBench.open();
    bench.view = (nowMs, wallMs) => withDevices(workingView(nowMs, wallMs), devices(nowMs));
    context = await browser.newContext({ viewport: { width, height: 800 } });
    const watched = await WatchedPage.open(context);
    await watched.page.goto(bench.url);
    await watched.page.getByText('Attached devices:').waitFor();
    return watched;
  }

  it('groups readings and outputs by device, each with its state in words, and passes an audit', async () => {
    const watched = await open((nowMs) => [
      meter(1, { label: 'Heat pump' }),
      meter(2, { state: 'blocked', reason: 'it was deleted there', sinceMs: nowMs - 7_200_000 }),
    ]);
    const { page } = watched;
    await page.getByText('Attached devices: 2: 1 blocked, 1 ready.').waitFor();
    const names = await page.locator('#sensors .group h3').allTextContents();
    expect(names).toEqual(['gateway-7', 'gateway-7 meter1 (Heat pump)', 'gateway-7 meter2']);
    await page.locator('#sensors').getByText('blocked: it was deleted there, for 2 h').waitFor();
    await page.locator('#actuators').getByText('blocked: it was deleted there, for 2 h').waitFor();
    expect(await page.getByText(/turnstone devices rotate 'gateway-7 meter2'/).count()).toBe(1);
    expect(await page.locator('#sensors .group').nth(1).locator('button.reading .value').textContent()).toBe('101 W');
    expect(await page.locator('#sensors .group').nth(2).locator('button.reading .value').textContent()).toBe('102 W');
    // Only those that have outputs have a group there.
    expect(await page.locator('#actuators .group h3').allTextContents()).toEqual(['gateway-7', 'gateway-7 meter2']);
    expect(await watched.violations()).toEqual([]);
    watched.expectClean();
  });

  it('asks for the series of the one device, and plots it under its name', async () => {
    const asked: (string | undefined)[] = [];
    const { page } = await open(() => [meter(1), meter(2)]);
    const { series } = bench;
    bench.series = (query, signal) => {
      if (query.keys.includes('power')) asked.push(query.device);
      return series(query, signal);
    };
    await page
      .locator('#sensors .group')
      .nth(2)
      .getByRole('button', { name: /^Power/ })
      .focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'meter2: power' }).waitFor();
    await page.getByText(/Least 20 W, greatest/).waitFor();
    expect(asked).toContain('meter2');
    expect(asked).not.toContain(undefined);
  });

  it('finds by name, slot, label or state with the keyboard, and tells how many', async () => {
    const { page } = await open(() =>
      Array.from({ length: 60 }, (_, at) => meter(at, at === 7 ? { state: 'provisioning', label: 'Cellar' } : {})),
    );
    const shown = () => page.locator('#sensors .group:not([hidden]) h3').allTextContents();
    // Many begin closed, but for what needs a person.
    await expect
      .poll(() => page.locator('#sensors .group[open] h3').allTextContents())
      .toEqual(['gateway-7', 'gateway-7 meter7 (Cellar)']);
    const field = page.getByLabel('Find a device by its name, slot or state');
    await field.focus();
    await page.keyboard.type('METER42');
    expect(await shown()).toEqual(['gateway-7 meter42']);
    await page.getByText('1 of 60 devices').waitFor();
    await page.locator('#sensors .group[open] button.reading', { hasText: '142 W' }).waitFor();
    await field.fill('provisioning cell');
    expect(await shown()).toEqual(['gateway-7 meter7 (Cellar)']);
    await field.fill('no such');
    await page.getByText('0 of 60 devices').waitFor();
    // It stays so with the next status.
    await page.waitForTimeout(1_500);
    expect(await shown()).toEqual([]);
    await field.fill('');
    expect((await shown()).length).toBe(61);
  });

  it('opens a closed group by the keyboard, with its readings at once, and keeps it open and focused', async () => {
    const { page } = await open(() => Array.from({ length: 20 }, (_, at) => meter(at)));
    const group = page.locator('#sensors .group').nth(5);
    expect(await group.locator('button.reading').count()).toBe(0);
    await group.locator('summary').focus();
    await page.keyboard.press('Enter');
    await group.getByRole('button', { name: /^Power/ }).waitFor({ timeout: 500 });
    await page.waitForTimeout(1_500);
    expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY');
    expect(await group.getAttribute('open')).not.toBeNull();
  });

  it('fits a phone, and says when only the worst of very many stand there', async () => {
    const watched = await open(
      () => Array.from({ length: 210 }, (_, at) => meter(at, { label: `${'Meter of the house '.repeat(6)}${at}` })),
      360,
    );
    const { page } = watched;
    await page.getByText('Attached devices: 210: 210 ready. The state of 50 stands here.').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    // Those that are not told of have their slot as a name.
    await page.locator('#sensors .group h3', { hasText: /^meter209$/ }).waitFor();
    expect(await watched.violations()).toEqual([]);
  });
});

function meter(at: number, change: Partial<DeviceStatus> = {}): DeviceStatus {
  return attachedDevice({ name: `gateway-7 meter${at}`, slots: [`meter${at}`], ...change });
}

function withDevices(view: StatusView, devices: readonly DeviceStatus[]): StatusView {
  const slots = devices.flatMap((device) => device.slots);
  const sensors = slots.map((device) => ({
    name: `${device}Power`,
    kind: 'modbus',
    state: 'ok' as const,
    device,
    readings: [{ key: 'power', value: 100 + Number(device.replace('meter', '')), unit: 'W', atMs: view.nowMs - 100 }],
  }));
  const valve = { name: 'valve', kind: 'modbus-output', value: true, device: 'meter2' };
  const actuators = slots.includes('meter2') ? [...view.actuators, valve] : view.actuators;
  return { ...view, sensors: [...view.sensors, ...sensors], actuators, devices: devicesSummary(devices) };
}
