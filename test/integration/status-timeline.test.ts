/** The page's timeline in a real browser, and its log over a lost contact. */
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { TimelineEvent } from '../../src/timeline/event.ts';
import { browserSuite, missingBrowser, type WatchedPage } from '../support/browser.ts';
import { StatusBench, workingView } from '../support/status-bench.ts';
import { browserOfSuite } from '../support/suite-browser.ts';

const DAY_MS = 86_400_000;

describe.skipIf(missingBrowser() !== undefined)(browserSuite('what happened'), () => {
  const browser = browserOfSuite();
  let bench: StatusBench;

  async function open(
    events: readonly TimelineEvent[],
    options: Parameters<Browser['newContext']>[0] = {},
  ): Promise<WatchedPage> {
    bench = await StatusBench.open();
    browser.closeLater(() => bench.stop());
    bench.events = events;
    bench.view = (nowMs, wallMs) => ({ ...workingView(nowMs, wallMs), timelineSeq: bench.events.at(-1)?.seq ?? 0 });
    const watched = await browser.open(options);
    await watched.page.goto(bench.url);
    await watched.page.getByText('Working', { exact: true }).waitFor();
    return watched;
  }

  const numbered = (count: number): TimelineEvent[] =>
    Array.from({ length: count }, (_, at) => ({
      seq: at + 1,
      ts: Date.now() - (count - at) * 60_000,
      kind: at % 2 === 0 ? 'rule' : 'alarm',
      words: `event ${at + 1}.`,
    }));
  const sentences = (page: Page): Promise<string[]> =>
    page.locator('.event summary > span:last-child').allTextContents();
  const unfold = async (page: Page): Promise<void> => {
    await page.locator('#happened > summary').click();
    await page.locator('#happened-chosen > summary').click();
  };
  const saved = async (page: Page, button: string): Promise<string> => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: button }).click(),
    ]);
    return await readFile(await download.path(), 'utf8');
  };

  it('asks for nothing while it is folded, and for each new event once', async () => {
    const watched = await open(numbered(3));
    const { page } = watched;
    const asked: string[] = [];
    page.on('request', (request) => request.url().includes('/api/timeline') && asked.push(request.url()));
    await page.waitForTimeout(2_500);
    expect(asked).toEqual([]);
    await unfold(page);
    await page.getByText('event 3.').waitFor();
    expect(await sentences(page)).toEqual(['rules: event 3.', 'alarms: event 2.', 'rules: event 1.']);
    await page.waitForTimeout(2_500);
    expect(asked).toHaveLength(1);
    bench.events = [...bench.events, { seq: 4, ts: Date.now(), kind: 'contact', words: 'The platform is reached.' }];
    await page.getByText('The platform is reached.').waitFor();
    expect(asked).toHaveLength(2);
    watched.expectClean();
  });

  it('shows kinds, days, facts, and leads to the output', async () => {
    const moved = {
      kind: 'command',
      actuator: 'relay',
      by: 'rpc',
      value: true,
      words: 'The platform called setRelay: relay is on.',
    } as const;
    const watched = await open([
      { seq: 1, ts: Date.now() - DAY_MS, ...moved, unsure: true },
      ...numbered(2).map((one) => ({ ...one, seq: one.seq + 1 })),
    ]);
    const { page } = watched;
    await unfold(page);
    await page.getByText('setRelay').waitFor();
    expect(await page.locator('#happened-list .day h3').count()).toBeGreaterThanOrEqual(2);
    await page.getByLabel('commands').check();
    await expect.poll(() => sentences(page)).toEqual(['commands: The platform called setRelay: relay is on.']);
    expect(await page.locator('.event time').textContent()).toMatch(/~$/);
    await page.locator('.event summary').focus();
    await page.keyboard.press('Enter');
    await page.getByText('the clock was not known to be right').waitFor();
    expect(await page.locator('.event dl').textContent()).toContain('Outputrelay');
    expect(await watched.violations()).toEqual([]);
    await page.getByRole('button', { name: 'Show it on this page' }).click();
    expect(await page.evaluate('document.activeElement.closest(".actuator").dataset.name')).toBe('relay');
    watched.expectClean();
  });

  it('finds words, goes back further, and begins anew with a record that did', async () => {
    const { page } = await open(numbered(250), { viewport: { width: 320, height: 640 } });
    await unfold(page);
    await page.getByText('event 250.').waitFor();
    expect(await sentences(page)).toHaveLength(100);
    await page.getByRole('button', { name: 'Show older ones' }).click();
    await page.getByText('event 51.').waitFor();
    await page.getByRole('button', { name: 'Show older ones' }).click();
    await page.getByText('event 1.').waitFor();
    expect(await page.getByRole('button', { name: 'Show older ones' }).isHidden()).toBe(true);
    await page.locator('#happened-search').fill('event 25');
    expect(await sentences(page)).toEqual(['alarms: event 250.', 'rules: event 25.']);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
    await page.locator('#happened-search').fill('');
    bench.events = numbered(1);
    // A status comes once a second.
    await expect.poll(() => sentences(page), { timeout: 10_000 }).toEqual(['rules: event 1.']);
  });

  it('saves all that was chosen, whatever is shown of it', async () => {
    const { page } = await open([
      ...numbered(700),
      { seq: 701, ts: 0, kind: 'rule', by: '=1+1', words: 'Rule "a", b began.' },
    ]);
    await unfold(page);
    await page.getByText('event 700.').waitFor();
    await page.getByLabel('rules').check();
    await expect.poll(async () => (await sentences(page))[1]).toBe('rules: event 699.');
    const csv = (await saved(page, 'Save as CSV')).replace('\uFEFF', '').trimEnd().split('\r\n');
    expect(csv).toHaveLength(1 + 351);
    expect(csv[0]).toBe('number,time,unsure,kind,words,by,actuator,sensor,key,device,value,from');
    expect(csv[1]).toBe('701,1970-01-01T00:00:00.000Z,false,rule,"Rule ""a"", b began.",\'=1+1,,,,,,');
    expect(JSON.parse(await saved(page, 'Save as JSON'))).toHaveLength(351);
  });

  it('says so when nothing is recorded', async () => {
    const { page } = await open([]);
    await unfold(page);
    await page.getByText('Nothing is recorded of this.').waitFor();
  });

  it('keeps the log’s lines over a lost contact, each once, and says where some are missing', async () => {
    const { page } = await open([]);
    await page.locator('#journal > summary').click();
    const line = (msg: string): void => bench.log({ level: 'info', time: '2026-01-01T10:00:00Z', msg });
    const lines = async (): Promise<string[]> =>
      (await page.locator('#log-lines li').allTextContents()).map((text) => text.replace(/^.*info /, '').trim());
    line('one');
    await expect.poll(lines).toEqual(['one']);
    await bench.stop();
    await page.locator('body.offline').waitFor();
    expect(await lines()).toEqual(['one']);
    await bench.start();
    line('two');
    await expect
      .poll(async () => (await lines()).slice(-2), { timeout: 15_000 })
      .toEqual([expect.stringContaining('started anew'), 'two']);
    const send = (run: string, first: number, texts: readonly string[]): Promise<unknown> =>
      page.evaluate(
        `import('/page/status/log.js').then(({ addLines }) => addLines(${JSON.stringify({ run, first, lines: texts })}))`,
      );
    await send('run', 7, ['a', 'b']);
    // As after a contact that was lost: the newest lines once more.
    await send('run', 7, ['a', 'b', 'c']);
    await send('run', 14, ['d']);
    expect((await lines()).slice(-5)).toEqual(['a', 'b', 'c', '… 4 lines were not seen.', 'd']);
    const text = await saved(page, 'Save what is shown');
    expect(text).toContain('2026-01-01T10:00:00Z info two\n');
    expect(text).toContain('lines were not seen');
  }, 60_000);
});
