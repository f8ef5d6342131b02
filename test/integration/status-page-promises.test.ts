/** The page in a browser against what it promises: releases, sessions that end, answers to a press. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { browserSuite, missingBrowser, type WatchedPage } from '../support/browser.ts';
import { StatusBench, workingView } from '../support/status-bench.ts';
import { browserOfSuite } from '../support/suite-browser.ts';

const PIN = 'look-pin-3401';
const SOON = { timeout: 10_000 };
const PHONE = { width: 320, height: 640 };

describe.skipIf(missingBrowser() !== undefined)(browserSuite('what the page promises'), () => {
  const browser = browserOfSuite();
  let bench: StatusBench;
  let asked: unknown[];

  async function enter(): Promise<WatchedPage> {
    const state = { name: 'pump', value: true, desired: true };
    asked = [];
    const ask = async (...question: readonly unknown[]): Promise<typeof state> => {
      asked.push(question.slice(0, 2));
      return state;
    };
    bench = await StatusBench.open({ pin: PIN }, undefined, { operations: new Map(), ask });
    browser.closeLater(() => bench.stop());
    const limits = { maxPulseMs: 60_000 } as never;
    bench.facts = {
      mayControl: true,
      sensors: {},
      outputs: {
        pump: { valueType: 'boolean', limits, operatorUntil: 'ruleChange', interlocks: [] },
        fan: { valueType: 'number', limits, operatorUntil: 'ruleChange', interlocks: [] },
        heating: {
          valueType: 'string',
          texts: ['eco', 'comfort'],
          limits,
          operatorUntil: 'ruleChange',
          interlocks: [],
        },
      },
    };
    bench.view = (nowMs, wallMs) => ({
      ...workingView(nowMs, wallMs),
      actuators: [
        // As the agent tells an output without `safe.start` that a person has switched on: nothing else has a say.
        {
          name: 'pump',
          kind: 'gpio-output',
          value: true,
          why: 'on',
          slots: [{ slot: 'operator', value: true, by: 'local', sinceS: 2 }],
        },
        { name: 'fan', kind: 'pwm', value: 0, why: 'off', slots: [] },
        { name: 'heating', kind: 'modbus-write', value: 'eco', why: 'eco', slots: [] },
      ],
    });
    const watched = await browser.open({ viewport: PHONE });
    await watched.page.goto(bench.url);
    await watched.page.locator('#pin-input').fill(PIN);
    await watched.page.keyboard.press('Enter');
    await watched.page.locator('#content').waitFor();
    return watched;
  }

  it('does not say that a release switches off what nobody else has a say in: it stays on', async () => {
    const { page } = await enter();
    await page.locator('.actuator[data-name=pump] summary').click();
    await page.locator('.actuator[data-name=pump] tbody tr').waitFor();
    expect(await page.locator('.actuator[data-name=pump] .released').textContent()).not.toContain('would be off');
  });

  it('shows nothing of a plot when the session has ended', async () => {
    const { page } = await enter();
    await page.locator('button.reading').first().click();
    await page.locator('#plot-area canvas').waitFor();
    await page.evaluate('fetch("/api/session", { method: "DELETE" })');
    await page.locator('#pin').waitFor(SOON);
    expect(await page.locator('#plot').isVisible()).toBe(false);
  });

  it('says what is missing when a number is set that was not entered', async () => {
    const { page } = await enter();
    await page.locator('.actuator[data-name=fan] summary').click();
    await page.locator('.actuator[data-name=fan]').getByRole('button', { name: 'Set' }).click();
    const said = await page.locator('.actuator[data-name=fan] .said').textContent();
    const isMarked = await page.evaluate('!document.querySelector(".actuator[data-name=fan] input").checkValidity()');
    expect([said, isMarked]).not.toEqual(['', false]);
  });

  it('offers the names of a mode, and sends the one that is chosen', async () => {
    const { page } = await enter();
    const tile = page.locator('.actuator[data-name=heating]');
    await tile.locator('summary').click();
    await tile.getByLabel('Value').selectOption('comfort');
    await tile.getByRole('button', { name: 'Set' }).click();
    await expect
      .poll(() => asked, SOON)
      .toContainEqual(['setActuator', expect.objectContaining({ name: 'heating', value: 'comfort' })]);
  });

  it('fits 320 px with an alarm that has a long name', async () => {
    const { page } = await enter();
    bench.view = (nowMs, wallMs) => {
      const alarm = {
        sensor: 'roof',
        key: 'roofTemperature',
        name: 'supplyTemperatureOfTheUnderfloorHeatingTooHigh',
        above: 1,
        limit: 'above 1',
        value: 2,
      };
      return { ...workingView(nowMs, wallMs), alarms: [{ ...alarm, sinceMs: nowMs - 5_000, moves: [] }] };
    };
    await page.locator('#alarm-list .limit').waitFor(SOON);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
  });

  it('keeps the name of an output on its line when the output is a text', async () => {
    const { page } = await enter();
    bench.view = (nowMs, wallMs) => ({
      ...workingView(nowMs, wallMs),
      actuators: [
        {
          name: 'display',
          kind: 'serial-write',
          value: 'Welcome to the pumping station, please ring',
          why: 'on',
          slots: [],
        },
      ],
    });
    const name = page.locator('.actuator[data-name=display] .name');
    await name.waitFor(SOON);
    expect((await name.boundingBox())?.height).toBeLessThan(60);
  });

  it('shows sensors when a search is on and there are few values again, as after a restart', async () => {
    const { page } = await enter();
    const withValues = (count: number): void => {
      bench.view = (nowMs, wallMs) => {
        const readings = Array.from({ length: count }, (_, at) => ({
          key: `value${at}`,
          value: at,
          atMs: nowMs - 900,
        }));
        return { ...workingView(nowMs, wallMs), sensors: [{ name: 'line', kind: 'modbus', state: 'ok', readings }] };
      };
    };
    withValues(40);
    await page.locator('#finder-search').fill('value30');
    await expect.poll(() => page.locator('button.reading:visible').count(), SOON).toBe(1);
    withValues(12);
    await page.locator('#finder').waitFor({ state: 'hidden', ...SOON });
    expect(await page.locator('button.reading:visible').count()).toBe(12);
  });

  it('saves the span that the file is named after, though its readings could not be loaded', async () => {
    const { page } = await enter();
    await page.locator('button.reading').first().click();
    await page.locator('#plot-area canvas').waitFor();
    bench.series = async () => await Promise.reject(new Error('the disk does not answer'));
    await page.getByRole('button', { name: 'Earlier' }).click();
    await page.locator('#plot-summary', { hasText: 'could not be loaded' }).waitFor(SOON);
    const saving = page.waitForEvent('download', { timeout: 3_000 }).catch(() => undefined);
    await page
      .getByRole('button', { name: 'Save as CSV' })
      .click({ timeout: 3_000 })
      .catch(() => {});
    const download = await saving;
    // To save nothing is as good.
    if (download === undefined) return;
    const named = /T(\d\d)-(\d\d)/.exec(download.suggestedFilename())?.slice(1).join(':') ?? '';
    const [, first = ''] = (await readFile(await download.path(), 'utf8')).split('\r\n');
    expect(first.slice(11, 16)).toBe(named);
  });

  it('shows the beginning of the plot in its field when another one was wished for', async () => {
    const { page } = await enter();
    await page.locator('button.reading').first().click();
    await page.locator('#plot-area canvas').waitFor();
    const field = page.locator('#plot-from');
    const begins = await field.inputValue();
    await field.fill('2099-01-01T00:00');
    await field.dispatchEvent('change');
    // The plot goes no further than now.
    await expect.poll(() => field.inputValue(), SOON).toMatch(begins.slice(0, 4));
  });
});
