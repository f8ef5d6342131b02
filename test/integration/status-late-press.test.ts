/** A press on the page that waits in the network until nobody expects it any more. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LocalDoor } from '../../src/operations/local-door.ts';
import { browserSuite, launchBrowser, missingBrowser, WatchedPage } from '../support/browser.ts';
import { StatusBench, workingView } from '../support/status-bench.ts';

const PIN = 'look-pin-3402';

describe.skipIf(missingBrowser() !== undefined)(browserSuite('a press without contact'), () => {
  let browser: Browser;
  let bench: StatusBench;
  let link: StallingLink;
  const moved: unknown[] = [];

  beforeAll(async () => {
    browser = await launchBrowser();
    const state = { name: 'pump', value: true, desired: true };
    const ask: LocalDoor['ask'] = async (_operation, params) => {
      moved.push(params);
      return state;
    };
    bench = await StatusBench.open({ pin: PIN }, undefined, { operations: new Map(), ask });
    bench.facts = {
      mayControl: true,
      sensors: {},
      outputs: { pump: { valueType: 'boolean', limits: {} as never, operatorUntil: 'ruleChange', interlocks: [] } },
    };
    bench.view = (nowMs, wallMs) => ({
      ...workingView(nowMs, wallMs),
      actuators: [{ name: 'pump', kind: 'gpio-output', value: false, why: 'off', slots: [] }],
    });
    link = await StallingLink.open(Number(new URL(bench.url).port));
  });

  afterAll(async () => {
    await browser?.close();
    link?.close();
    await bench?.stop();
  });

  it('moves nothing once the page has said that there is no contact, and the network comes back', {
    timeout: 60_000,
  }, async () => {
    const watched = await WatchedPage.open(await browser.newContext());
    const { page } = watched;
    await page.goto(`http://127.0.0.1:${link.port}`);
    await page.locator('#pin-input').fill(PIN);
    await page.keyboard.press('Enter');
    await page.locator('.actuator summary').click();
    await page.getByRole('button', { name: 'On', exact: true }).waitFor();
    link.stall();
    await page.getByRole('button', { name: 'On', exact: true }).click();
    await page.locator('#verdict', { hasText: 'No contact' }).waitFor({ timeout: 20_000 });
    await delay(5_000);
    link.goOn();
    // Its answer, whatever it is, ends the waiting.
    await expect.poll(() => page.locator('.said').textContent(), { timeout: 10_000 }).not.toBe('Sent …');
    expect(moved).toEqual([]);
  });
});

/** A network that delivers nothing for a while, and then all of it, as TCP does over a bad radio link. */
class StallingLink {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isStalled = false;

  private constructor(to: number) {
    this.#server = createServer((near) => {
      const far = connect(to, '127.0.0.1');
      for (const [from, into] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from);
        from.on('error', () => {});
        from.on('data', (piece) => into.write(piece));
        from.on('close', () => into.end());
        if (this.#isStalled) from.pause();
      }
    });
  }

  static async open(to: number): Promise<StallingLink> {
    const link = new StallingLink(to);
    await new Promise<void>((resolve) => link.#server.listen(0, '127.0.0.1', resolve));
    return link;
  }

  get port(): number {
    return (this.#server.address() as { readonly port: number }).port;
  }

  stall(): void {
    this.#isStalled = true;
    for (const socket of this.#sockets) socket.pause();
  }

  goOn(): void {
    this.#isStalled = false;
    for (const socket of this.#sockets) socket.resume();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
