import { describe, expect, it } from 'vitest';
import { type DeviceStatus, devicesSummary } from '../../src/status/shape/device-status.ts';
import type { StatusView } from '../../src/status/status-view.ts';
import { attachedDevice } from '../support/attached-device-status.ts';
import { browserSuite, missingBrowser, type WatchedPage } from '../support/browser.ts';
import { StatusBench, workingView } from '../support/status-bench.ts';
import { browserOfSuite } from '../support/suite-browser.ts';

describe.skipIf(missingBrowser() !== undefined)(browserSuite('the status page with attached devices'), () => {
  const browser = browserOfSuite();
  let bench: StatusBench;

  async function open(devices: (nowMs: number) => readonly DeviceStatus[], width = 1_200): Promise<WatchedPage> {
    bench = await StatusBench.open();
    browser.closeLater(() => bench.stop());
    bench.view = (nowMs, wallMs) => withDevices(workingView(nowMs, wallMs), devices(nowMs));
    const watched = await browser.open({ viewport: { width, height: 800 } });
    await watched.page.goto(bench.url);
    await watched.page.getByRole('heading', { name: 'Attached devices' }).waitFor();
    return watched;
  }

  it('shows few devices as cards, each with its state in words, beside what is the gateway’s own', async () => {
    const watched = await open((nowMs) => [
      meter(1, { label: 'Heat pump' }),
      meter(2, { state: 'blocked', reason: 'it was deleted there', sinceMs: nowMs - 7_200_000 }),
    ]);
    const { page } = watched;
    await page.getByText('2: 1 blocked, 1 ready.').waitFor();
    expect(await page.locator('#sensors h3').allTextContents()).toEqual(['Roof', 'gateway-7 meter2', 'Heat pump']);
    const blocked = page.locator('#sensors .sensor', { hasText: 'meter2' });
    await blocked.getByText('blocked: it was deleted there, for 2 h').waitFor();
    await blocked.getByText(/turnstone devices rotate 'gateway-7 meter2'/).waitFor();
    expect(await blocked.locator('button.reading .value').textContent()).toBe('102 W');
    expect(await page.locator('#device-table').isHidden()).toBe(true);
    // An output says whose it is.
    expect(await page.locator('.actuator[data-name=valve] .of').textContent()).toBe('gateway-7 meter2');
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
    await page.locator('#sensors .sensor', { hasText: 'meter2' }).locator('button.reading').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'meter2: Power' }).waitFor();
    await page.getByText(/Least 20 W, greatest/).waitFor();
    expect(asked).toContain('meter2');
    expect(asked).not.toContain(undefined);
  });

  it('shows ten and more as lines, the worst first, fifteen until somebody wants all', async () => {
    const watched = await open((nowMs) =>
      Array.from({ length: 60 }, (_, at) =>
        meter(
          at,
          at === 41 ? { state: 'blocked', reason: 'deleted', heldEntries: 312 } : { lastAcceptedAtMs: nowMs - 5_000 },
        ),
      ),
    );
    const { page } = watched;
    const lines = page.locator('#device-table tbody');
    await lines.first().waitFor();
    expect(await lines.count()).toBe(15);
    expect(await lines.first().locator('tr').first().locator('th, td').allTextContents()).toEqual([
      '✕gateway-7 meter41',
      'blocked',
      expect.anything(),
      '312',
      '141 W',
    ]);
    expect(await lines.nth(1).locator('th').textContent()).toBe('✓gateway-7 meter0');
    await page.getByRole('button', { name: 'Show all 60' }).click();
    await expect.poll(() => lines.count()).toBe(60);
    expect(await watched.violations()).toEqual([]);
  });

  it.each([
    ['name', 'gateway-7 meter0'],
    ['contact', 'gateway-7 meter3'],
    ['waiting', 'gateway-7 meter5'],
  ])('sorts by %s', async (by, first) => {
    const { page } = await open((nowMs) =>
      Array.from({ length: 12 }, (_, at) =>
        meter(at, {
          lastAcceptedAtMs: nowMs - (at === 3 ? 60_000 : 1_000),
          ...(at === 5 ? { isBehind: true, heldEntries: 7 } : {}),
        }),
      ),
    );
    await page.getByLabel('Sort by').selectOption(by);
    await expect.poll(() => page.locator('#device-table tbody th bdi').first().textContent()).toBe(first);
  });

  it('finds by name, slot, label, sensor or state with the keyboard, and tells how many', async () => {
    const { page } = await open(() =>
      Array.from({ length: 60 }, (_, at) => meter(at, at === 7 ? { state: 'provisioning', label: 'Cellar' } : {})),
    );
    const shown = () => page.locator('#device-table tbody th bdi').allTextContents();
    await page.getByLabel('Find a device by its name, slot or state').focus();
    await page.keyboard.type('METER42');
    await expect.poll(shown).toEqual(['gateway-7 meter42']);
    await page.getByText('1 of 60 devices').waitFor();
    const field = page.getByLabel('Find a device by its name, slot or state');
    await field.fill('provisioning cell');
    await expect.poll(shown).toEqual(['Cellar']);
    await field.fill('no such');
    await page.getByText('0 of 60 devices').waitFor();
    // It stays so with the next status.
    await page.waitForTimeout(1_500);
    expect(await shown()).toEqual([]);
    await field.fill('');
    await expect.poll(async () => (await shown()).length).toBe(15);
  });

  it('opens a line by the keyboard, with readings and outputs at once, and keeps it open and focused', async () => {
    const watched = await open(() => Array.from({ length: 20 }, (_, at) => meter(at)));
    const { page } = watched;
    const line = page.locator('#device-table tbody', { hasText: 'gateway-7 meter2' }).first();
    expect(await line.locator('button.reading').count()).toBe(0);
    await line.getByRole('button').focus();
    await page.keyboard.press('Enter');
    await line.getByRole('button', { name: /^Power/ }).waitFor({ timeout: 1_000 });
    await line.locator('.actuator[data-name=valve]').waitFor();
    await page.waitForTimeout(1_500);
    expect(await page.evaluate('document.activeElement.getAttribute("aria-expanded")')).toBe('true');
    // Its outputs stand there alone.
    expect(await page.locator('#actuators .actuator').count()).toBe(1);
    expect(await watched.violations()).toEqual([]);
  });

  it('fits a phone, and says when only the worst of very many stand there', async () => {
    const watched = await open(
      () => Array.from({ length: 210 }, (_, at) => meter(at, { label: `${'Meter of the house '.repeat(6)}${at}` })),
      360,
    );
    const { page } = watched;
    await page.getByText('210: 210 ready. The state of 50 stands here.').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    // Those that are not told of have their slot as a name.
    await page.getByLabel('Find a device by its name, slot or state').fill('meter209');
    await page.locator('#device-table tbody th', { hasText: /^meter209$/ }).waitFor();
    expect(await watched.violations()).toEqual([]);
  });

  it('fits a hundred in three screens of a desk and five of a phone', async () => {
    const hundred = () => Array.from({ length: 100 }, (_, at) => meter(at));
    const { page } = await open(hundred, 1_280);
    await page.locator('#device-table tbody').first().waitFor();
    const height = () => page.evaluate('document.documentElement.scrollHeight');
    expect(await height()).toBeLessThan(3 * 900);
    await page.setViewportSize({ width: 390, height: 844 });
    await expect.poll(height).toBeLessThan(5 * 844);
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
