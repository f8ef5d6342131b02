/** Ten things that people come to the page for, each found with a few taps on a phone; the answers are those of the made-up greenhouse. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { browserSuite, missingBrowser } from '../support/browser.ts';
import { GREENHOUSE_PIN, Greenhouse } from '../support/greenhouse.ts';
import { browserOfSuite } from '../support/suite-browser.ts';

const PHONE = { width: 390, height: 844 };

describe.skipIf(missingBrowser() !== undefined)(browserSuite('a person with a phone'), () => {
  const browser = browserOfSuite();
  let site: Greenhouse;

  async function open(): Promise<Page> {
    site = await Greenhouse.open();
    browser.closeLater(() => site.bench.stop());
    const { page } = await browser.open({ viewport: PHONE, hasTouch: true, locale: 'en-GB' });
    await page.goto(site.bench.url);
    await page.locator('#pin-input').fill(GREENHOUSE_PIN);
    await page.getByRole('button', { name: 'Show the status' }).tap();
    await page.locator('#content').waitFor();
    await expect.poll(() => page.title()).toBe('✕ Greenhouse Dornbach');
    return page;
  }

  it('sees which sensor is silent, since when and why, without a tap', async () => {
    const page = await open();
    const roof = page.locator('.sensor.failing');
    expect(await roof.locator('h3').textContent()).toBe('Roof');
    expect(await roof.locator('.faults').textContent()).toMatch(
      /^no readings since (.*, )?\d\d:\d\d:\d\d: no answer at 0x76: is it connected\?$/,
    );
  });

  it('switches the pump for two hours: the page asks first, and for how long', async () => {
    const page = await open();
    await page.getByRole('switch', { name: 'Irrigation pump (pump)' }).tap();
    await page.getByRole('heading', { name: 'Set Irrigation pump (pump) to running?' }).waitFor();
    await page.getByRole('dialog').getByLabel('How long Irrigation pump (pump) is held so').selectOption('2 h');
    await page.getByRole('button', { name: 'Yes, switch' }).tap();
    await page.locator('.actuator.on[data-name=pump] .state', { hasText: 'running' }).waitFor();
    expect(site.asked).toEqual([{ name: 'setActuator', params: { name: 'pump', value: true, for: '2h' } }]);
    // The rules would stop it.
    await page.getByRole('button', { name: 'Back to the rules: Irrigation pump (pump)' }).tap();
    await page.getByRole('dialog').getByRole('button', { name: 'Back to the rules' }).tap();
    await page.locator('.actuator:not(.on)[data-name=pump]').waitFor();
  });

  it('takes the question back when the output has changed meanwhile', async () => {
    const page = await open();
    await page.getByRole('switch', { name: 'Irrigation pump (pump)' }).tap();
    await page.getByRole('dialog').waitFor();
    await site.bench.operations?.ask('setActuator', { name: 'pump', value: true }, AbortSignal.timeout(1_000));
    await page.getByText('Not done: it has changed meanwhile. Look again.').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(site.asked).toHaveLength(1);
  });

  it('switches nothing when the question is not agreed to, and a light without one', async () => {
    const page = await open();
    await page.getByRole('switch', { name: 'Irrigation pump (pump)' }).tap();
    await page.getByRole('button', { name: 'Cancel' }).tap();
    await page.getByRole('switch', { name: 'Irrigation pump (pump)' }).tap();
    await page.keyboard.press('Escape');
    expect(site.asked).toEqual([]);
    await page.getByRole('switch', { name: 'Light at the door (lamp)' }).tap();
    await page.getByText('Not done: the greenhouse has one pump.').waitFor();
    expect(site.asked).toEqual([{ name: 'setActuator', params: { name: 'lamp', value: true } }]);
  });

  it('reads why the pump is off beneath its name, and since when behind "more"', async () => {
    const page = await open();
    const pump = page.locator('.actuator[data-name=pump]');
    expect(await pump.locator('.head .state').textContent()).toBe('stopped');
    expect(await pump.locator('.why').textContent()).toBe('off, because of the rule Tank too low');
    await pump.getByText('More', { exact: true }).tap();
    await pump.getByText(/since (.*, )?03:0[45]:\d\d, for /).waitFor();
  });

  it('reads what happened at night', async () => {
    const page = await open();
    await page.locator('#happened > summary').tap();
    await page.getByText('The agent started again after a power cut.').waitFor();
    expect(await page.locator('#happened-list .event').count()).toBe(6);
  });

  it('acknowledges the alarm', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Acknowledge' }).tap();
    await page.getByText(/Acknowledged on the page at \d\d:\d\d:\d\d\./).waitFor();
    expect(site.asked).toEqual([
      { name: 'acknowledgeAlarm', params: { sensor: 'coldRoom', key: 'coldRoomTemperature', name: 'tooWarm' } },
    ]);
    expect(await page.getByRole('button', { name: 'Acknowledge' }).count()).toBe(0);
  });

  it('plots two temperatures in one picture, over the whole screen', async () => {
    const page = await open();
    await page.locator('button.reading[data-name=boilerTemperature]').tap();
    await page.locator('#plot-area canvas').waitFor();
    expect((await page.locator('#plot').boundingBox())?.width).toBe(PHONE.width);
    await page.getByRole('button', { name: 'Add 2 more in °C' }).tap();
    await page.getByRole('heading', { name: 'Boiler temperature, Cold room temperature, PV temperature' }).waitFor();
  });

  it('sees which device waits, as the first line of the table', async () => {
    const page = await open();
    const first = page.locator('#device-table tbody').first();
    expect(await first.locator('th bdi').textContent()).toBe('Tenant 7');
    expect(await first.locator('.waiting').textContent()).toBe('312');
    expect(await first.locator('.contact').textContent()).toBe('2 h ago');
  });

  it('finds what the line carries this month, and what it will by the end', async () => {
    const page = await open();
    await page.locator('#gateway > summary').tap();
    await page.locator('#connection').getByText('31.2 MB of 50.0 MB').waitFor();
    await page.locator('#connection dd.warn', { hasText: '56.1 MB: more than is allowed' }).waitFor();
  });

  it('finds the secret with which the device is claimed', async () => {
    const page = await open();
    await page.locator('#gateway > summary').tap();
    await page.getByText('KQ7MV-2HXDR').waitFor();
    await page.getByRole('img', { name: /QR code/ }).waitFor();
  });

  it('sees why the update waits, without a tap', async () => {
    const page = await open();
    await page.getByText('the update to turnstone 1.4.0 waits: something attached is being updated').first().waitFor();
  });
});
