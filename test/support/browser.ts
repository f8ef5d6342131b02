/** Debian's chromium for the page tests, without its windows where it can be had: one browser at a time, which reaches this machine alone. */
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

/** The first that is there: the shell takes half the CPU time. */
const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path));

/** Why page tests cannot run here; undefined when they can. */
export function missingBrowser(): string | undefined {
  return CHROMIUM === undefined ? 'no chromium: scripts/ensure-test-tools.sh installs it, as root' : undefined;
}

/** For a suite's name, so that a run that leaves it out says why. */
export function browserSuite(name: string): string {
  const reason = missingBrowser();
  return reason === undefined ? name : `${name} (left out: ${reason})`;
}

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(CHROMIUM === undefined ? {} : { executablePath: CHROMIUM }),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-dev-shm-usage',
      // Tabs of one page share a process: the start of one costs more than all that it shows.
      '--renderer-process-limit=1',
      '--process-per-site',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
}

/** A page whose every request and complaint is kept. */
export class WatchedPage {
  readonly page: Page;
  readonly faults: string[] = [];
  readonly hosts = new Set<string>();

  private constructor(page: Page) {
    this.page = page;
    page.on('pageerror', (error) => this.faults.push(error.message));
    // Violations of the page's policy show here, and nowhere else.
    page.on('console', (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) this.faults.push(message.text());
    });
    page.context().on('request', (request) => this.hosts.add(new URL(request.url()).hostname));
  }

  static async open(context: BrowserContext): Promise<WatchedPage> {
    return new WatchedPage(await context.newPage());
  }

  /** Returns axe's findings of level serious or critical. */
  async violations(): Promise<string[]> {
    await this.page.evaluate(axe.source);
    const { violations } = await this.page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
  }

  /** Nothing went wrong in the page, and nothing left this machine. */
  expectClean(): void {
    expect(this.faults).toEqual([]);
    expect([...this.hosts]).toEqual(['127.0.0.1']);
  }
}
