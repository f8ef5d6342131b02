/** One browser for a suite. What a test opens is closed after it, the last first. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { launchBrowser, WatchedPage } from './browser.ts';

type PageOptions = Parameters<Browser['newContext']>[0];

export interface SuiteBrowser {
  /** Opens a page in a context of its own. */
  readonly open: (options?: PageOptions) => Promise<WatchedPage>;
  /** Has something closed after the test. */
  readonly closeLater: (close: () => Promise<unknown>) => void;
}

/** Called where a suite is described. */
export function browserOfSuite(): SuiteBrowser {
  let browser: Browser;
  const opened: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
  });

  afterEach(async () => {
    for (const close of opened.splice(0).toReversed()) await close();
  });

  const closeLater = (close: () => Promise<unknown>): void => {
    opened.push(close);
  };
  return {
    closeLater,
    open: async (options) => {
      const context = await browser.newContext(options);
      closeLater(() => context.close());
      return WatchedPage.open(context);
    },
  };
}
