/** Changing the configuration on the status page: what differs is shown first, a PIN guards it, a trial is followed, and two people do not overwrite each other. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Sentence } from '../../src/errors/sentence.ts';
import { english, sentence, toldAs } from '../../src/names/sentences.ts';
import { browserSuite, launchBrowser, missingBrowser, WatchedPage } from '../support/browser.ts';
import { StandInConfiguration } from '../support/stand-in-configuration.ts';
import { StatusBench, workingView } from '../support/status-bench.ts';

const PIN = 'change-pin-5521';
const PHONE = { width: 390, height: 844 };
const FILE = `version: 1
platform: { url: "https://example.org", accessToken: "token-of-a-device" }
remoteConfiguration: { enabled: true }
sensors:
  - name: freezer
    label: Freezer
    kind: bme280
    bus: 1
    period: 10s
    keys:
      temperature: { alarms: [{ above: -15, hysteresis: 1 }] }
  - { name: room, kind: sht3x, bus: 1, prefix: room_ }
actuators:
  - { name: pump, kind: gpio-output, line: 5 }
`;
/** A protecting rule goes by the room. */
const GUARDED = `${FILE}rules:
  - { name: guard, when: { sensor: room, key: room_temperature, above: 40 }, set: { actuator: pump, value: false }, protect: true, sensorLost: false }
`;
const FOUND = {
  found: [
    {
      id: 'i2c-1-0x76',
      place: 'I2C bus 1, address 0x76',
      what: 'BME280: temperature, humidity, pressure',
      usedBy: 'freezer',
    },
    { id: 'i2c-1-0x50', place: 'I2C bus 1, address 0x50', what: 'a part that no driver knows' },
    {
      id: 'ttyUSB0-3',
      place: '/dev/ttyUSB0, unit 3',
      what: 'SDM120: energy meter',
      readings: ['voltage 230 V'],
      sensor: { name: 'meter', kind: 'tmp102', bus: 1, prefix: 'meter_' },
    },
  ],
  ports: [{ port: '/dev/ttyUSB0' }, { port: '/dev/ttyUSB1', usedBy: 'room' }],
  faults: ['I2C bus 2: permission denied'],
};

describe.skipIf(missingBrowser() !== undefined)(browserSuite('the configuration on the page'), () => {
  let browser: Browser;
  let context: BrowserContext;
  let bench: StatusBench;
  let site: StandInConfiguration;
  let alerts: readonly Sentence[];
  let timelineSeq: number;

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
  });

  afterEach(async () => {
    await context?.close();
    await bench?.stop();
    await site?.close();
  });

  async function open({ locale = 'en-GB', mayConfigure = true, file = FILE } = {}): Promise<WatchedPage> {
    [alerts, timelineSeq] = [[], 1];
    site = await StandInConfiguration.open(file);
    bench = await StatusBench.open({ pin: PIN }, undefined, site.door);
    bench.facts = { mayControl: true, mayConfigure, sensors: {}, outputs: {} };
    bench.view = (nowMs, wallMs) => {
      const { sensors, actuators } = site.config;
      const readings = [{ key: 'temperature', value: -17.5, unit: '°C', atMs: nowMs - 100 }];
      return {
        ...workingView(nowMs, wallMs),
        timelineSeq,
        alerts: alerts.map(english),
        sentences: Object.fromEntries(alerts.map((told) => [english(told), told])),
        sensors: sensors.map(({ name, label, kind }) => ({ name, label, kind, state: 'ok', readings })),
        actuators: actuators.map(({ name, label, kind }) => ({ name, label, kind, value: false, slots: [] })),
      };
    };
    context = await browser.newContext({ locale, viewport: PHONE, hasTouch: true });
    return await enter();
  }

  async function enter(): Promise<WatchedPage> {
    const watched = await WatchedPage.open(context);
    const { page } = watched;
    await page.goto(bench.url);
    await page.locator('#pin-input').or(page.locator('#content')).first().waitFor({ state: 'attached' });
    await page.locator('#pin:visible, #content:visible').first().waitFor();
    if (await page.locator('#pin').isVisible()) {
      await page.locator('#pin-input').fill(PIN);
      await page.keyboard.press('Enter');
    }
    await page.locator('#content').waitFor();
    return watched;
  }

  const change = (page: Page, name: string): Promise<void> =>
    page.getByRole('button', { name: `Change ${name}` }).click();
  const onTrial = (page: Page): Promise<void> =>
    page.getByRole('dialog').getByText('A change of the configuration is on trial.').waitFor();
  const look = (page: Page): Promise<void> => page.getByRole('button', { name: 'Show what changes' }).click();
  const width = (page: Page): Promise<unknown> => page.evaluate('document.documentElement.scrollWidth');

  it('changes a limit of the freezer: the difference first, then the trial to its end, over a reload', async () => {
    const watched = await open();
    const { page } = watched;
    await change(page, 'Freezer');
    const above = page.getByLabel('Alarm above (°C)').first();
    expect(await above.inputValue()).toBe('-15');
    expect(await page.getByLabel('Period').inputValue()).toBe('10s');
    await above.fill('-12');
    await look(page);
    await page.getByText('Freezer, Temperature, Alarm above (°C): -15 °C → -12 °C').waitFor();
    await page.locator('code', { hasText: 'sensors.freezer.keys.temperature.alarms[0].above' }).waitFor();
    expect([site.handedOver, site.text]).toEqual([[], FILE]);
    expect(await watched.violations()).toEqual([]);
    expect(await width(page)).toBe(PHONE.width);
    site.waitsFor = [toldAs(sentence('trialWithoutUpload'))];
    await page.getByRole('button', { name: 'Try it' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('A change of the configuration is on trial.').waitFor();
    await dialog.getByText(/^4 min left; .* It waits: no upload was acknowledged\.$/).waitFor();
    expect(site.handedOver).toEqual([
      { base: expect.any(String), set: { 'sensors.freezer.keys.temperature.alarms[0].above': -12 } },
    ]);
    await page.reload();
    await page.locator('#trial-words', { hasText: 'on trial' }).waitFor();
    expect(await watched.violations()).toEqual([]);
    site.end('kept');
    await page.locator('#trial-words', { hasText: 'The change of the configuration is kept.' }).waitFor();
    await page.locator('#configuration > summary').click();
    await page.locator('#tried li', { hasText: 'kept, from the page' }).waitFor();
    expect(await watched.violations()).toEqual([]);
    watched.expectClean();
  });

  it('follows a trial over a restart of the agent, and says why the previous file is back', async () => {
    const { page } = await open();
    await change(page, 'Room');
    await page.getByLabel('Label').first().fill('Cold room');
    await look(page);
    await page.getByText('Room, Label: nothing → Cold room').waitFor();
    await page.getByRole('button', { name: 'Try it' }).click();
    await onTrial(page);
    await page.keyboard.press('Escape');
    await bench.stop();
    await page.locator('#verdict', { hasText: 'No contact' }).waitFor({ timeout: 15_000 });
    site.end('returned', 'within 5m: no reading of room');
    await bench.start();
    const words = page.locator('#trial-words', {
      hasText: 'the previous file is back: within 5m: no reading of room',
    });
    const pin = page.locator('#pin:visible');
    await words.or(pin).first().waitFor({ timeout: 15_000 });
    if (await pin.isVisible()) {
      await page.locator('#pin-input').fill(PIN);
      await page.keyboard.press('Enter');
    }
    await words.waitFor();
    expect(site.text).toBe(FILE);
  });

  it('labels an output, by keyboard alone', async () => {
    const { page } = await open();
    await page.locator('.actuator summary').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Change Pump' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Label').fill('Well pump');
    await page.keyboard.press('Enter');
    await page.getByText('Pump, Label: nothing → Well pump').waitFor();
    // The focus is on what comes next.
    await page.keyboard.press('Enter');
    await onTrial(page);
    expect(site.config.actuators[0]?.label).toBe('Well pump');
  });

  it('says a mistake at its field, and hands nothing over', async () => {
    const watched = await open();
    const { page } = watched;
    await change(page, 'Freezer');
    await page.getByLabel('Period').fill('soon');
    await look(page);
    await page.getByText('1 mistake: see the field.').waitFor();
    const field = page.getByLabel('Period');
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(await page.locator('.mistake:not(:empty)').textContent()).toMatch(/^wrong value; expected: a duration/);
    expect(await page.getByRole('button', { name: 'Try it' }).isVisible()).toBe(false);
    expect(await watched.violations()).toEqual([]);
    await field.fill('30s');
    expect(await field.getAttribute('aria-invalid')).toBeNull();
    expect(site.handedOver).toEqual([]);
  });

  it('takes a decimal comma and a span with blanks, and refuses what is no number before anything is asked', async () => {
    const watched = await open();
    const { page } = watched;
    await change(page, 'Freezer');
    const above = page.getByLabel('Alarm above (°C)').first();
    await above.fill('abc');
    await look(page);
    await page.getByText('No number; needed: one such as 20, -17.5 or -17,5.').waitFor();
    expect(await above.getAttribute('aria-invalid')).toBe('true');
    expect(await above.evaluate('document.activeElement.value')).toBe('abc');
    expect(site.asked.filter(({ name }) => name === 'configure')).toEqual([]);
    expect(await watched.violations()).toEqual([]);
    await above.fill('-17,5');
    await page.getByLabel('Period').fill('1h 30 min');
    await look(page);
    await page.getByText('Alarm above (°C): -15 °C → -17.5 °C').waitFor();
    await page.getByRole('button', { name: 'Try it' }).click();
    await onTrial(page);
    expect(site.handedOver).toMatchObject([
      { set: { 'sensors.freezer.keys.temperature.alarms[0].above': -17.5, 'sensors.freezer.period': '1h30m' } },
    ]);
  });

  it('says that an alarm goes when its limit is emptied', async () => {
    const { page } = await open();
    await change(page, 'Freezer');
    await page.getByLabel('Alarm above (°C)').first().fill('');
    await page.locator('.hint', { hasText: 'The alarm goes.' }).waitFor();
    await look(page);
    await page.locator('.change-result li', { hasText: '-15 °C → nothing. The alarm goes.' }).waitFor();
  });

  it('says what is locked, and does not offer to try it', async () => {
    const watched = await open({ file: GUARDED });
    const { page } = watched;
    await change(page, 'Room');
    await page.getByLabel('Period').fill('1m');
    await look(page);
    await page.getByRole('heading', { name: 'Not possible from here' }).waitFor();
    await page.locator('.change-result li', { hasText: 'sensors.room.period' }).first().waitFor();
    await page.getByText('It is changed in /etc/turnstone/turnstone.yaml on the device').waitFor();
    expect(await page.getByRole('button', { name: 'Show what changes' }).isVisible()).toBe(true);
    expect(await page.getByRole('button', { name: 'Try it' }).isVisible()).toBe(false);
    expect(await watched.violations()).toEqual([]);
  });

  it('keeps what was typed when somebody else has changed the file', async () => {
    const { page } = await open();
    await change(page, 'Freezer');
    await page.getByLabel('Alarm above (°C)').first().fill('-12');
    const { page: other } = await enter();
    await change(other, 'Freezer');
    await other.getByLabel('Alarm above (°C)').first().fill('-14');
    await other.getByLabel('Period').fill('30s');
    await look(other);
    await other.getByRole('button', { name: 'Try it' }).click();
    await onTrial(other);
    site.end('kept');
    // The dialog says so by itself, once the status has something new.
    timelineSeq += 1;
    await page.getByText(/^Somebody changed the file at .*: look again\. What you have typed stays\.$/).waitFor();
    await page.getByRole('button', { name: 'Look again' }).click();
    await page.getByText('It is -14 °C now.').waitFor();
    expect(await page.getByLabel('Alarm above (°C)').first().inputValue()).toBe('-12');
    expect(await page.getByLabel('Period').inputValue()).toBe('30s');
    await look(page);
    await page.getByText('-14 °C → -12 °C').waitFor();
    expect(site.handedOver).toHaveLength(1);
  });

  it('adds a part that was found, and says of the others what they are', async () => {
    const watched = await open();
    const { page } = watched;
    site.parts = FOUND;
    await page.locator('#configuration > summary').click();
    await page.getByRole('button', { name: 'Look for what is connected' }).click();
    await page.getByText('3 parts found.').waitFor();
    await page.locator('[data-id=i2c-1-0x76]', { hasText: 'In use: Freezer.' }).waitFor();
    await page.locator('[data-id=i2c-1-0x50]', { hasText: 'No driver knows it.' }).waitFor();
    await page.getByText('I2C bus 2: permission denied').waitFor();
    await page.getByRole('button', { name: 'Ask this line for Modbus devices: /dev/ttyUSB0' }).click();
    await expect
      .poll(() => site.asked.filter(({ name }) => name === 'findParts').at(-1)?.params)
      .toEqual({ modbus: { port: '/dev/ttyUSB0', baudRate: 9_600 } });
    await page.getByRole('button', { name: 'Add SDM120: energy meter, /dev/ttyUSB0, unit 3' }).click();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('meter');
    await page.getByLabel('Name', { exact: true }).fill('freezer');
    await look(page);
    await page.getByText('freezer is there already').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('mainMeter');
    await page.getByLabel('Prefix of its keys').fill('main_');
    await page.getByLabel('Label').fill('Main meter');
    await look(page);
    await page.getByText('New sensor mainMeter: SDM120: energy meter').waitFor();
    for (const words of ['Label: Main meter', 'Period: as is usual', 'It reads voltage 230 V.'])
      await page.locator('.change-result li', { hasText: words }).waitFor();
    expect([site.text, await width(page)]).toEqual([FILE, PHONE.width]);
    expect(await watched.violations()).toEqual([]);
    await page.getByRole('button', { name: 'Try it' }).click();
    await onTrial(page);
    expect(site.config.sensors.at(-1)).toMatchObject({ name: 'mainMeter', label: 'Main meter', kind: 'tmp102' });
    // It is not offered a second time.
    const part = page.locator('[data-id=ttyUSB0-3]');
    await part.getByText('It was just added on trial').waitFor();
    expect(await part.getByRole('button').count()).toBe(0);
    watched.expectClean();
  });

  it('says what is locked of a part before anybody fills in a form, and what to do', async () => {
    const watched = await open();
    const { page } = watched;
    const sensor = { name: 'probe', kind: 'command', program: '/usr/bin/probe' };
    site.parts = { found: [{ id: 'probe', place: 'a program', what: 'probe', sensor }], ports: [], faults: [] };
    await page.locator('#configuration > summary').click();
    await page.getByRole('button', { name: 'Look for what is connected' }).click();
    await page.getByRole('button', { name: 'Add probe, a program' }).click();
    await page.getByRole('heading', { name: 'Not possible from here' }).waitFor();
    await page.getByText('writes allow: [programs] under remoteConfiguration there').waitFor();
    await page.locator('#change code', { hasText: '/etc/turnstone/turnstone.yaml' }).waitFor();
    expect(await page.locator('#change input').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Show what changes' }).isVisible()).toBe(false);
    expect([site.handedOver, await width(page)]).toEqual([[], PHONE.width]);
    expect(await watched.violations()).toEqual([]);
  });

  it('adds what a line answers to what was found, and goes to it', async () => {
    const watched = await open();
    const { page } = watched;
    const [used, unknown, meter] = FOUND.found;
    site.parts = { found: [used, unknown], ports: FOUND.ports, faults: [] } as never;
    await page.locator('#configuration > summary').click();
    await page.getByRole('button', { name: 'Look for what is connected' }).click();
    await page.getByText('2 parts found.').waitFor();
    await page.getByLabel('Baud rate of /dev/ttyUSB0').selectOption('19200 baud');
    site.parts = { found: [meter], ports: [], faults: [] } as never;
    const line = page.locator('#lines-list li').first();
    await line.getByRole('button').click();
    await line.getByText('1 part found.').waitFor();
    const ids = page.locator('#parts-list li');
    expect(await Promise.all((await ids.all()).map((item) => item.getAttribute('data-id')))).toEqual([
      'i2c-1-0x50',
      'ttyUSB0-3',
      'i2c-1-0x76',
    ]);
    expect(await page.locator('#lines-list li').count()).toBe(2);
    expect(await page.evaluate('document.activeElement.dataset.id')).toBe('ttyUSB0-3');
    expect(await watched.violations()).toEqual([]);
  });

  it('looks at nothing before the present values are there', async () => {
    const { page } = await open();
    const values = Promise.withResolvers<void>();
    await page.route('**/api/operation', async (route) => {
      if (route.request().postData()?.includes('"sensorSettings"') === true) await values.promise;
      await route.continue();
    });
    await change(page, 'Freezer');
    await page.getByRole('button', { name: 'Show what changes', disabled: true }).waitFor();
    values.resolve();
    await page.getByRole('button', { name: 'Show what changes', disabled: false }).waitFor();
  });

  it('says an answer where it is seen, offers another look, and the remedy of a wrong key', async () => {
    const watched = await open();
    const { page } = watched;
    await page.route('**/api/operation', async (route) => {
      const isTry = route.request().postData()?.includes('"check"') === false;
      const isHandedOver = isTry && route.request().postData()?.includes('"configure"') === true;
      await (isHandedOver ? route.fulfill({ status: 409, json: { reason: 'the disk is full' } }) : route.continue());
    });
    const sensor = { name: 'probe', kind: 'tmp102', bus: 1, prefix: 'probe_' };
    const wrong = { name: 'other', kind: 'tmp102', bus: 1, adress: 73 };
    site.parts = {
      found: [
        { id: 'one', place: 'bus 1', what: 'probe', sensor },
        { id: 'two', place: 'bus 2', what: 'other', sensor: wrong },
      ],
      ports: [],
      faults: [],
    };
    await page.locator('#configuration > summary').click();
    await page.getByRole('button', { name: 'Look for what is connected' }).click();
    await page.getByRole('button', { name: 'Add probe, bus 1' }).click();
    await look(page);
    await page.getByRole('button', { name: 'Try it' }).click();
    const answer = page.getByRole('dialog').getByRole('status').filter({ hasText: 'Not done: the disk is full.' });
    await answer.waitFor();
    const box = await answer.boundingBox();
    expect((box?.y ?? PHONE.height) + (box?.height ?? 0)).toBeLessThanOrEqual(PHONE.height);
    expect(await page.getByRole('button', { name: 'Show what changes' }).isVisible()).toBe(true);
    expect(await page.getByRole('button', { name: 'Try it' }).isVisible()).toBe(false);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Add other, bus 2' }).click();
    await look(page);
    await page.getByText(/; did you mean "address"\?$/).waitFor();
  });

  it('takes a decimal comma for an output, and shows on a card what holds', async () => {
    const watched = await open();
    const alarm = { name: 'above -15', limit: 'above -15', above: -15, hysteresis: 1 };
    bench.facts = {
      mayControl: true,
      mayConfigure: true,
      sensors: { freezer: { periodMs: 10_000, readings: { temperature: { isReported: true, alarms: [alarm] } } } },
      outputs: {
        pump: { valueType: 'number', limits: { min: 0, max: 50 }, operatorUntil: 'rules', interlocks: [] } as never,
      },
    };
    const { page } = watched;
    await page.reload();
    await page.locator('.sensor .settings', { hasText: 'Read every 10 s; alarm Temperature above -15 °C' }).waitFor();
    await page.locator('#configuration-words', { hasText: 'change, and add what is connected' }).waitFor();
    await page.locator('.actuator summary').click();
    const value = page.getByLabel('Value', { exact: true });
    const said = (): Promise<unknown> => page.evaluate('document.activeElement.validationMessage');
    await value.fill('abc');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    expect(await said()).toMatch(/^No number/);
    await value.fill('60');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    expect(await said()).toBe('From 0 to 50.');
    await value.fill('17,5');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    await expect
      .poll(() => site.asked.filter(({ name }) => name === 'setActuator'))
      .toEqual([{ name: 'setActuator', params: { name: 'pump', value: 17.5 } }]);
    expect(await width(page)).toBe(PHONE.width);
    expect(await watched.violations()).toEqual([]);
  });

  it('says a refusal once, until it is dismissed', async () => {
    const { page } = await open();
    await page.locator('#configuration > summary').click();
    site.refuse('locked: platform.url');
    alerts = [sentence('changeRefused', { by: 'patch', why: 'locked: platform.url' })];
    timelineSeq += 1;
    await page.locator('#trial-words', { hasText: 'was refused: locked: platform.url' }).waitFor();
    expect(await page.locator('#alert-list li').count()).toBe(0);
    await page.locator('#tried li', { hasText: 'refused, from the platform' }).waitFor();
    await page.getByText('None was on trial yet.').waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.locator('#trial').waitFor({ state: 'hidden' });
    await page.reload();
    await page.locator('#configuration-words', { hasText: 'refused' }).waitFor();
    expect(await page.locator('#trial').isVisible()).toBe(false);
    expect(await page.locator('#alert-list li').count()).toBe(0);
  });

  it('keeps what was typed when the session ends', async () => {
    const { page } = await open();
    await change(page, 'Freezer');
    await page.getByLabel('Period').fill('30s');
    await page.evaluate("fetch('/api/session', { method: 'DELETE' })");
    await look(page);
    await page.locator('#pin-input').fill(PIN);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    expect(await page.getByLabel('Period').inputValue()).toBe('30s');
    await look(page);
    await page.getByText('Freezer, Period: 10s → 30s').waitFor();
  });

  it('changes nothing without the PIN, and says where it is not switched on how that is done', async () => {
    const { page } = await open({ mayConfigure: false });
    await page.locator('#configuration > summary').click();
    await page.getByText('It is changed on this page once the file on site says').waitFor();
    expect(await page.getByRole('button', { name: /^Change/ }).count()).toBe(0);
    const patch = { base: site.hash, set: { 'sensors.freezer.period': '1s' } };
    const answer = await fetch(`${bench.url}/api/operation`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ operation: 'configure', params: { patch } }),
    });
    expect([answer.status, site.text]).toEqual([401, FILE]);
  });

  it('speaks German throughout', async () => {
    const watched = await open({ locale: 'de-DE' });
    const { page } = watched;
    await page.getByRole('button', { name: 'Freezer ändern' }).click();
    const above = page.getByLabel('Alarm über (°C)').first();
    const show = page.getByRole('button', { name: 'Zeigen, was sich ändert' });
    await above.fill('abc');
    await show.click();
    await page.getByText('Keine Zahl; gebraucht wird eine wie 20, -17,5 oder -17.5.').waitFor();
    await above.fill('');
    await show.click();
    await page.locator('.change-result li', { hasText: '-15 °C → nichts. Der Alarm entfällt.' }).waitFor();
    await above.fill('-12,5');
    site.waitsFor = [toldAs(sentence('trialWithoutReadings', { sensors: 'freezer', count: 0 }))];
    await show.click();
    await page.getByText('Freezer, Temperature, Alarm über (°C): -15 °C → -12,5 °C').waitFor();
    await page.getByRole('button', { name: 'Ausprobieren' }).click();
    await page.getByRole('dialog').getByText('Sie wartet: noch kein Messwert von freezer.').waitFor();
    expect(await watched.violations()).toEqual([]);
    watched.expectClean();
  });
});
