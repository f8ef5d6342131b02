/** The local platform's page in a real browser: all that a person does there, with a device that speaks the device API. */
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { browserSuite, launchBrowser, missingBrowser, WatchedPage } from '../support/browser.ts';

const TOKEN = 'page-device-token';

describe.skipIf(missingBrowser() !== undefined)(browserSuite("the platform's page"), () => {
  let browser: Browser;
  let context: BrowserContext;
  let platform: LocalPlatform;
  let watched: WatchedPage;
  let deviceId: string;
  let device: AbortController;

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
  });

  beforeEach(async () => {
    platform = await LocalPlatform.start();
    deviceId = platform.ensureDevice('shed', TOKEN).id;
    device = new AbortController();
    await tell('telemetry', { temperature: 21.5, note: '<b>bold</b>' });
    await tell('attributes', { serial: 'A7', fanState: false });
    void answerRpc();
    context = await browser.newContext();
    watched = await WatchedPage.open(context);
    await watched.page.goto(platform.url);
  });

  afterEach(async () => {
    await context.close();
    device.abort();
    await platform.close();
  });

  async function tell(kind: string, body: object): Promise<void> {
    await fetch(`${platform.url}/api/v1/${TOKEN}/${kind}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  /** A device with a fan and a dimmer; everything else it refuses. */
  async function answerRpc(): Promise<void> {
    while (!device.signal.aborted) {
      const poll = await fetch(`${platform.url}/api/v1/${TOKEN}/rpc?timeout=5000`, { signal: device.signal }).catch(
        () => undefined,
      );
      if (poll?.status !== 200) continue;
      const { id, method, params } = (await poll.json()) as {
        id: number;
        method: string;
        params: Record<string, unknown>;
      };
      const known: Record<string, object> = {
        getStatus: {
          actuators: [
            { name: 'fan', value: false },
            { name: 'dimmer', value: 10 },
          ],
        },
        setActuator: { name: params.name, value: params.value },
        getActuator: { name: params.name, why: '40, because the operator (rpc) said so' },
        pulse: { ...params },
        releaseActuator: { released: params.name },
      };
      const reply = known[method] === undefined ? { error: { code: 'rpc/unknown-method' } } : { result: known[method] };
      await tell(`rpc/${id}`, reply).catch(() => {});
    }
  }

  async function logIn(username: string, password: string): Promise<void> {
    await watched.page.getByLabel('User').fill(username);
    await watched.page.getByLabel('Password').fill(password);
    await watched.page.getByRole('button', { name: 'Log in' }).click();
  }

  it('refuses a wrong password in words, and is sound before and after the log-in, light and dark', async () => {
    const { page } = watched;
    await logIn('tenant@thingsboard.org', 'wrong');
    await page.getByText('Invalid username or password').waitFor();
    expect(await watched.violations()).toEqual([]);
    await logIn('tenant@thingsboard.org', 'tenant');
    await page.getByRole('heading', { name: 'shed' }).waitFor();
    await page.getByRole('switch', { name: /^fan/ }).waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await watched.violations()).toEqual([]);
    }
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Password').waitFor();
    watched.expectClean();
  });

  it('shows telemetry as it arrives, as text, and plots it', async () => {
    const { page } = watched;
    await logIn('tenant@thingsboard.org', 'tenant');
    await page.getByRole('button', { name: 'temperature 21.5' }).waitFor();
    await page.getByText('<b>bold</b>').waitFor();
    await tell('telemetry', { temperature: 23.25 });
    await page.getByRole('button', { name: 'temperature 23.25' }).click();
    await page.getByText('Least 21.5, greatest 23.25, last 23.25.').waitFor();
    expect(await watched.violations()).toEqual([]);
    watched.expectClean();
  });

  it('sends an RPC and shows the answer, also a refusal; a switch moves what the device says it has', async () => {
    const { page } = watched;
    await logIn('tenant@thingsboard.org', 'tenant');
    await page.getByRole('switch', { name: 'fan: off' }).click();
    await page.getByRole('switch', { name: 'fan: on' }).waitFor();
    await page.getByLabel('Method').fill('selfDestruct');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('rpc/unknown-method').waitFor();
    await page.getByLabel('Parameters, as JSON').fill('{oops');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('A name in double quotes is due: {oops').waitFor();
    expect(await page.getByLabel('Parameters, as JSON').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Parameters, as JSON').fill('{}');
    await page.getByText('A name in double quotes is due').waitFor({ state: 'detached' });
  });

  it('has buttons for each output, with its reason, and a field where it takes a number', async () => {
    const { page } = watched;
    await logIn('tenant@thingsboard.org', 'tenant');
    await page.getByRole('button', { name: 'Pulse 1 s fan' }).click();
    await page.getByText('"durationMs": 1000').waitFor();
    await page.getByLabel('Value of dimmer').fill('40');
    await page.getByRole('button', { name: 'Set dimmer' }).click();
    await page.locator('.output[data-key=dimmer]').getByText('40, because the operator (rpc) said so').waitFor();
    expect(await page.locator('.output[data-key=dimmer] .value').textContent()).toBe('40');
    await page.getByRole('button', { name: 'Release dimmer' }).click();
    await page.getByText('"released": "dimmer"').waitFor();
    expect(await watched.violations()).toEqual([]);
  });

  it('folds client attributes that hold several values', async () => {
    const { page } = watched;
    await tell('attributes', { effectiveSettings: { 'upload.intervalMs': 5000 } });
    await logIn('tenant@thingsboard.org', 'tenant');
    const fold = page.locator('#client-wide details');
    await fold.getByText('Effective settings').click();
    await page.getByText('upload.intervalMs').waitFor();
    expect(await page.locator('#client').textContent()).not.toContain('upload');
  });

  it('tells a mistake in a value beneath it, and offers quotes for a bare word', async () => {
    const { page } = watched;
    await logIn('tenant@thingsboard.org', 'tenant');
    await page.locator('#shared-key').fill('mode');
    await page.locator('#shared-value').fill('eco');
    await page.locator('#shared-form button[type=submit]').click();
    await page.getByText('Text needs quotes: eco').waitFor();
    expect(await watched.violations()).toEqual([]);
    await page.getByRole('button', { name: 'Make it the text "eco"' }).click();
    await page.locator('#shared-form button[type=submit]').click();
    await page.getByRole('textbox', { name: 'Value of mode' }).waitFor();
  });

  it('sets, changes and removes shared attributes, which the device is told, and server-side ones, which it is not', async () => {
    const { page } = watched;
    await logIn('tenant@thingsboard.org', 'tenant');
    await page.getByText('serial').waitFor();
    await page.locator('#shared-key').fill('fan');
    await page.locator('#shared-value').fill('9007199254740993');
    await page.locator('#shared-form button').click();
    await page.getByRole('textbox', { name: 'Value of fan' }).waitFor();
    const told = async (): Promise<string> =>
      (await fetch(`${platform.url}/api/v1/${TOKEN}/attributes?sharedKeys=fan,ward`)).text();
    expect(await told()).toContain('9007199254740993');
    await page.getByRole('textbox', { name: 'Value of fan' }).fill('true');
    await page.getByRole('button', { name: 'Set fan' }).click();
    await expect.poll(told).toContain('"fan":true');
    await page.locator('#server-key').fill('ward');
    await page.locator('#server-value').fill('"east"');
    await page.locator('#server-form button').click();
    await page.getByRole('textbox', { name: 'Value of ward' }).waitFor();
    expect(await told()).not.toContain('ward');
    await page.getByRole('button', { name: 'Remove fan' }).click();
    await expect.poll(told).not.toContain('fan');
  });

  it('takes a package and assigns it; the device is offered it', async () => {
    const { page } = watched;
    await logIn('tenant@thingsboard.org', 'tenant');
    await page.getByText('Upload a package').click();
    await page.locator('#package-version').fill('2.0.0');
    await page
      .locator('#package-file')
      .setInputFiles({ name: 'image.bin', mimeType: 'application/octet-stream', buffer: Buffer.from('image') });
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByText('turnstone 2.0.0 is here.').waitFor();
    await page.locator('#package').selectOption({ index: 1 });
    await page.getByRole('button', { name: 'Assign' }).click();
    await page.getByText('Assigned; the device is told.').waitFor();
    const offer = await (
      await fetch(`${platform.url}/api/v1/${TOKEN}/attributes?sharedKeys=fw_version,fw_size`)
    ).json();
    expect(offer).toEqual({ shared: { fw_version: '2.0.0', fw_size: 5 } });
  });

  it('runs a report', async () => {
    const { page } = watched;
    await logIn('tenant@thingsboard.org', 'tenant');
    await page.getByLabel('View').selectOption({ label: 'All telemetry' });
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('2 rows.').waitFor();
    await page.getByRole('cell', { name: '21.5' }).waitFor();
    expect(await watched.violations()).toEqual([]);
  });

  it('lets a customer claim a device with its secret, and the tenant take it back', async () => {
    const { page } = watched;
    await tell('claim', { secretKey: 'OPEN-SESAME', durationMs: 60_000 });
    await logIn('customer@thingsboard.org', 'customer');
    await page.getByLabel('Device name').fill('shed');
    await page.getByLabel('Secret').fill('wrong');
    await page.getByRole('button', { name: 'Claim' }).click();
    await page.getByText('Not claimed').waitFor();
    await tell('claim', { secretKey: 'OPEN-SESAME', durationMs: 60_000 });
    await page.getByLabel('Secret').fill('OPEN-SESAME');
    await page.getByRole('button', { name: 'Claim' }).click();
    await page.getByText('The device is yours.').waitFor();
    expect(await watched.violations()).toEqual([]);
    expect(platform.state.registry.devices.byId(deviceId)?.customer).toBe('customer@thingsboard.org');
    await page.getByRole('button', { name: 'Log out' }).click();
    await logIn('tenant@thingsboard.org', 'tenant');
    await page.getByRole('button', { name: 'Take it back from its owner' }).click();
    await page.getByText('nobody yet').waitFor();
  });

  it('says when the platform is gone, and goes on when it is back', async () => {
    const { page } = watched;
    await logIn('tenant@thingsboard.org', 'tenant');
    await page.getByRole('button', { name: /^temperature/ }).waitFor();
    await platform.goAway();
    await page.getByText('The platform is not reached; trying again.').waitFor();
    await platform.comeBack();
    await expect.poll(() => page.locator('#fault').textContent(), { timeout: 10_000 }).toBe('');
  });
});
