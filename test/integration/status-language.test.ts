/** The status page in German, and with names that run from right to left, in a real browser. */
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Sentence } from '../../src/errors/sentence.ts';
import { english, sentence, toldAs } from '../../src/names/sentences.ts';
import type { StatusView } from '../../src/status/status-view.ts';
import { browserSuite, missingBrowser, type WatchedPage } from '../support/browser.ts';
import { StatusBench, workingView } from '../support/status-bench.ts';
import { browserOfSuite } from '../support/suite-browser.ts';

const GREENHOUSE = 'البيت الزجاجي ٧';
const ROOM = 'غرفة_التبريد';

describe.skipIf(missingBrowser() !== undefined)(browserSuite('the languages of the status page'), () => {
  const browser = browserOfSuite();
  let bench: StatusBench;

  async function open(
    locale: string,
    change: (view: StatusView) => Partial<StatusView> = () => ({}),
  ): Promise<WatchedPage> {
    bench = await StatusBench.open();
    browser.closeLater(() => bench.stop());
    bench.view = (nowMs, wallMs) => {
      const view = workingView(nowMs, wallMs);
      return { ...view, ...change(view) };
    };
    const watched = await browser.open({ locale, viewport: { width: 360, height: 740 } });
    await watched.page.goto(bench.url);
    return watched;
  }

  it('says all of its own in German, and marks what the agent says as English', async () => {
    const watched = await open('de-AT', ({ sensors, actuators }) => ({
      sensors: sensors.map((one) => ({ ...one, state: 'failing' as const, fault: 'no answer at 0x76' })),
      actuators: actuators.map((one) => ({
        ...one,
        why: 'off, because the operator (rpc) said so',
        slots: [{ slot: 'operator' as const, value: false, by: 'rpc', sinceS: 180 }],
      })),
      alerts: ['sensor roof fails: no answer at 0x76'],
    }));
    const { page } = watched;
    await page.getByText('1 von 1 Sensor liefert keine Messwerte', { exact: true }).waitFor();
    expect(await page.evaluate('document.documentElement.lang')).toBe('de');
    expect(await page.locator('#sensors .faults li').textContent()).toBe('keine Messwerte: no answer at 0x76');
    expect(await page.locator('#sensors .faults [lang=en]').textContent()).toBe('no answer at 0x76');
    expect(await page.locator('#alert-list li [lang=en]').count()).toBe(1);
    expect(await page.locator('.why [lang=en]').count()).toBe(1);
    await page.locator('.actuator summary').click();
    expect(await page.locator('.actuator tr').allTextContents()).toEqual([
      expect.stringMatching(/^von Handausrpc, seit .* \(3 min\)$/),
    ]);
    await page.locator('#gateway > summary').click();
    await page.getByText('12 Einträge, 4,1 kB').waitFor();
    await page.getByText('10,0 Einträge pro Sekunde').waitFor();
    bench.log({ level: 'warn', time: '2026-01-01T10:00:00Z', msg: 'telemetry is kept' });
    await page.locator('#journal > summary').click();
    await page.locator('#log-lines li[lang=en]', { hasText: 'telemetry is kept' }).waitFor();
    // What stands in English now is the agent's, a name, or the same word in both languages.
    const untold = await page.evaluate(
      `[...document.querySelectorAll('[data-text]:not(li)')].map((one) => one.textContent).filter((text) => /\\b(the|is|of|and|what)\\b/i.test(text))`,
    );
    expect(untold).toEqual([]);
    expect(await watched.violations()).toEqual([]);
    watched.expectClean();
  });

  it('says what the agent says in German where it is a sentence', async () => {
    const told = (...sentences: readonly Sentence[]): Pick<StatusView, 'sentences'> => ({
      sentences: Object.fromEntries(sentences.map((one) => [english(one), one])),
    });
    const why = sentence('several', {
      all: [sentence('outputRuleSet', { value: false, class: 'valve', rule: 'Heizen', agoMs: 180_000 })],
    });
    const by = sentence('writer', { by: 'rpc' });
    const fault = sentence('notMoved', { output: 'Pumpe', why: sentence('lockedOut', { output: 'Pumpe' }) });
    const words = sentence('contactFault', {
      problem: sentence('connection-refused', { host: 'tb.example:8080', detail: 'ECONNREFUSED' }),
      remedy: sentence('connection-refused/remedy'),
    });
    const alert = sentence('clockNotSynchronised');
    const watched = await open('de', ({ actuators, platform }) => ({
      ...told(why, by, fault, words, alert),
      actuators: actuators.map((one) => ({
        ...one,
        why: english(why),
        fault: english(fault),
        slots: [{ slot: 'operator' as const, value: false, by: english(by), sinceS: 180 }],
      })),
      alerts: [english(words), english(alert)],
      platform: { ...platform, verdict: 'fault', words: english(words) },
      timelineSeq: 1,
    }));
    bench.events = [
      {
        seq: 1,
        ts: 1_750_000_000_000,
        kind: 'rule',
        ...toldAs(sentence('ruleTold', { edge: sentence('ruleBegan', { rule: 'Heizen' }) })),
      },
    ];
    const { page } = watched;
    await page.getByText('Es wird nichts übertragen: tb.example:8080 lehnt Verbindungen ab').first().waitFor();
    expect(await page.locator('.why').textContent()).toBe('geschlossen, wegen der Regel Heizen, seit 3 min');
    expect(await page.locator('.actuator .fault').textContent()).toBe(
      'Pumpe wurde nicht geschaltet: Pumpe wird nicht geschaltet: Die Fernsteuerung ist am Gerät gesperrt',
    );
    expect(await page.locator('#alert-list li').allTextContents()).toEqual([
      'die Uhr ist nicht synchronisiert; Messwerte warten, bis ihre Zeit bekannt ist',
    ]);
    await page.locator('.actuator summary').click();
    expect(await page.locator('.actuator tr').allTextContents()).toEqual([
      expect.stringMatching(/^von HandausPlattform, seit .* \(3 min\)$/),
    ]);
    await page.locator('#happened > summary').click();
    await page.locator('#happened-list bdi', { hasText: 'Die Bedingung der Regel Heizen ist erfüllt.' }).waitFor();
    // A word of the platform, and one of the record of credentials: neither is a sentence.
    expect(await page.locator('#content [lang=en]').allTextContents()).toEqual(['UPDATED', 'provisioned']);
    expect(await watched.violations()).toEqual([]);
    watched.expectClean();
  });

  it('keeps the language that is chosen at its foot, and goes back to that of the browser', async () => {
    const { page } = await open('fr-FR');
    await page.getByText('Working', { exact: true }).waitFor();
    await page.getByLabel('Language').selectOption('Deutsch');
    await page.getByText('In Betrieb', { exact: true }).waitFor();
    await page.reload();
    await page.getByText('In Betrieb', { exact: true }).waitFor();
    await page.getByLabel('Sprache').selectOption('wie im Browser');
    await page.getByText('Working', { exact: true }).waitFor();
    expect(await page.evaluate('localStorage.getItem("turnstone-language")')).toBeNull();
  });

  it('has the number pad for a PIN, and letters for one that has some', async () => {
    bench = await StatusBench.open({ pin: 'Öl-471199' });
    browser.closeLater(() => bench.stop());
    const { page } = await browser.open({ locale: 'de' });
    await page.goto(bench.url);
    const field = page.locator('#pin-input');
    await field.waitFor();
    expect([await field.getAttribute('inputmode'), await field.getAttribute('autocomplete')]).toEqual([
      'numeric',
      'one-time-code',
    ]);
    await page.getByLabel('Sie hat Buchstaben').check();
    expect(await field.getAttribute('inputmode')).toBe('text');
    await field.fill('Öl-471199');
    await page.keyboard.press('Enter');
    await page.getByText('In Betrieb', { exact: true }).waitFor();
  });

  it('keeps names from right to left in their place, whatever stands around them', async () => {
    const watched = await open('en', ({ nowMs, sensors }) => ({
      deviceName: GREENHOUSE,
      sensors: [
        ...sensors,
        {
          name: ROOM,
          kind: 'sht3x',
          state: 'ok',
          readings: [{ key: `${ROOM}.حرارة`, value: -7.5, unit: '°C', atMs: nowMs - 100 }],
        },
      ],
      alarms: [
        {
          sensor: ROOM,
          key: `${ROOM}.حرارة`,
          name: 'حار',
          above: -10,
          limit: 'above -10',
          value: -7.5,
          sinceMs: nowMs - 60_000,
          moves: ['مضخة', 'pump'],
        },
      ],
    }));
    const { page } = watched;
    await page.locator('h1 bdi', { hasText: GREENHOUSE }).waitFor();
    expect(await page.title()).toBe(`✕ ${GREENHOUSE}`);
    expect(await page.locator('#verdict bdi').allTextContents()).toEqual([`${ROOM.replace('_', ' ')} حرارة`, 'حار']);
    expect(await page.locator('#alarm-list .more').textContent()).toMatch(/It moves مضخة and pump\.$/);
    const row = page.locator('button.reading', { hasText: 'حرارة' });
    expect(await row.locator('.value').textContent()).toBe('-7.5 °C');
    // The name begins where the others do, and its value stays at its end.
    const beginsAt = (key: Locator): Promise<number> =>
      key.evaluate((element) => {
        const { document: owner } = globalThis as unknown as {
          document: {
            createRange(): { selectNode(node: unknown): void; getBoundingClientRect(): { x: number } };
          };
        };
        const range = owner.createRange();
        // Behind a part that is read out, and not seen.
        range.selectNode((element as unknown as { readonly lastChild: unknown }).lastChild);
        return Math.round(range.getBoundingClientRect().x);
      });
    expect(await beginsAt(row.locator('.key'))).toBe(
      await beginsAt(page.locator('.key', { hasText: 'Roof temperature' })),
    );
    const nodes = `[...document.querySelectorAll('#content *')].filter((one) => one.closest('bdi') === null && [...one.childNodes].some((node) => node.nodeType === 3 && /[\\u0600-\\u06ff]/.test(node.data)))`;
    expect(await page.evaluate(`${nodes}.map((one) => one.outerHTML)`)).toEqual([]);
    expect(await watched.violations()).toEqual([]);
    await row.click();
    await page.locator('#plot-area canvas').waitFor();
    expect(await page.locator('#plot-title bdi').textContent()).toBe(`${ROOM.replace('_', ' ')} حرارة`);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    watched.expectClean();
  });
});
