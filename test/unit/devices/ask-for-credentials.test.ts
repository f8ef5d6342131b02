/** What each answer to a provisioning request means, and what is asked next. */
import { beforeEach, describe, expect, it } from 'vitest';
import { askPlatform } from '../../../src/devices/ask-for-credentials.ts';
import { BESIDE_WORDS, type CredentialWords, GATEWAY_WORDS } from '../../../src/devices/credential-words.ts';
import type { CredentialsRecord } from '../../../src/devices/credentials-record.ts';
import type { ProvisioningDeps } from '../../../src/devices/provision-device.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { ProvisionAnswer, ProvisionRequest } from '../../../src/platform/device-api.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;
const PROPOSAL: CredentialsRecord = {
  phase: 'proposed',
  source: 'provisioned',
  deviceName: 'gateway-1',
  accessToken: 'mine',
  generation: 1,
  board: { hostname: 'gw' },
  previousTokens: ['older', 'oldest'],
};
const SECRETS = [
  { deviceKey: 'key-2', deviceSecret: 'secret-2' },
  { deviceKey: 'key-1', deviceSecret: 'secret-1' },
];

let clock: FakeClock;
let requests: ProvisionRequest[];
let steps: string[];
let tried: string[];
let answers: (ProvisionAnswer | Error)[];
/** By token; also an error. */
let works: (token: string) => boolean | Error;

beforeEach(() => {
  clock = new FakeClock();
  [requests, steps, tried, answers] = [[], [], [], []];
  works = () => false;
});

async function ask(proposal = PROPOSAL, words: CredentialWords = GATEWAY_WORDS): Promise<unknown> {
  const deps = {
    provision: async (request: ProvisionRequest) => {
      requests.push(request);
      const answer = answers.shift() ?? new Error('asked too often');
      if (answer instanceof Error) throw answer;
      return answer;
    },
    tokenWorks: async (token: string) => {
      tried.push(token);
      const answer = works(token);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    clock,
    log: silentLog,
    secrets: SECRETS,
    deviceName: 'configured',
    onStep: (step: string) => steps.push(step),
    words,
    // Nothing is kept or told here.
  } as unknown as ProvisioningDeps;
  const asking = askPlatform(deps, proposal, never).catch((error: Error) => error.message);
  await clock.advance(2_000);
  return await asking;
}

const NOT_FOUND: ProvisionAnswer = { status: 'NOT_FOUND', errorMsg: 'no profile' };
const FAILURE: ProvisionAnswer = { status: 'FAILURE', errorMsg: 'taken' };
const success = (credentialsType: string): ProvisionAnswer => ({
  status: 'SUCCESS',
  credentialsType,
  credentialsValue: 'given',
});

describe('an answer', () => {
  it('with a token is that token, and each secret is asked with until one is known', async () => {
    answers = [NOT_FOUND, success('ACCESS_TOKEN')];
    expect(await ask()).toEqual({ kind: 'token', accessToken: 'given' });
    expect(requests).toEqual(
      SECRETS.map(({ deviceKey, deviceSecret }) => ({
        deviceName: 'gateway-1',
        token: 'mine',
        provisionDeviceKey: deviceKey,
        provisionDeviceSecret: deviceSecret,
      })),
    );
    expect([steps, tried, clock.pending]).toEqual([['asking', 'answered', 'asking', 'answered'], [], 0]);
  });

  it('asks under the name of the proposal, or that of the configuration', async () => {
    answers = [success('ACCESS_TOKEN')];
    const { deviceName: _none, ...unnamed } = PROPOSAL;
    await ask(unnamed);
    expect(requests[0]?.deviceName).toBe('configured');
  });

  it('of other credentials is a refusal that names them, in few words', async () => {
    answers = [success('X'.repeat(100))];
    expect(await ask()).toEqual({
      kind: 'refused',
      explanation: expect.stringContaining(`of type ${'X'.repeat(40)};`),
    });
  });

  it('that knows no secret is a refusal that says where to look, unless one of our tokens works', async () => {
    answers = [NOT_FOUND, NOT_FOUND];
    expect(await ask()).toEqual({ kind: 'refused', explanation: expect.stringContaining('provisioning.deviceSecret') });
    expect(tried).toEqual(['mine', 'older', 'oldest']);
    [answers, works] = [[NOT_FOUND, NOT_FOUND], (token) => token === 'older'];
    expect(await ask()).toEqual({ kind: 'token', accessToken: 'older' });
  });
});

describe('a name that is taken', () => {
  it('is ours when one of our tokens works, at once', async () => {
    answers = [FAILURE];
    works = (token) => token === 'older';
    expect(await ask()).toEqual({ kind: 'token', accessToken: 'older' });
    expect([tried, steps, requests.length]).toEqual([['mine', 'older'], ['asking', 'answered', 'own-token-works'], 1]);
  });

  it('is another one’s when none works, and what to do is said', async () => {
    answers = [FAILURE];
    expect(await ask()).toMatchObject({
      kind: 'refused',
      explanation: expect.stringMatching(/"gateway-1".*\(it says: taken\).*enter "gateway-1"/),
    });
    expect([tried.length, steps.includes('own-token-works')]).toEqual([3, false]);
    answers = [{ status: 'FAILURE', errorMsg: '' }];
    expect(await ask()).not.toMatchObject({ explanation: expect.stringContaining('it says') });
    answers = [FAILURE];
    const { deviceName: _none, previousTokens: _tokens, ...bare } = PROPOSAL;
    tried = [];
    expect(await ask(bare)).toMatchObject({ explanation: expect.stringContaining('"configured"') });
    expect(tried).toEqual(['mine']);
  });
});

describe('a fault', () => {
  it('that passes is asked again, when the platform says', async () => {
    answers = [new PlatformError('busy', 'no route')];
    expect(await ask()).toEqual({ kind: 'busy', explanation: 'provisioning: no route' });
    answers = [new PlatformError('busy', 'later', { retryAfterMs: 7_000 })];
    expect(await ask()).toEqual({ kind: 'busy', explanation: 'provisioning: later', retryAfterMs: 7_000 });
    expect(tried).toEqual([]);
  });

  it('of something in between is held', async () => {
    answers = [new PlatformError('portal', 'a login page')];
    expect(await ask()).toEqual({ kind: 'held', explanation: 'provisioning: a login page' });
    expect(tried).toEqual([]);
  });

  it('that is a refusal in the platform’s own words may mean that the device is ours', async () => {
    answers = [new PlatformError('refused', 'token in use', { status: 400 })];
    works = (token) => token === 'mine';
    expect(await ask()).toEqual({ kind: 'token', accessToken: 'mine' });
    answers = [new PlatformError('refused', 'token in use', { status: 400 })];
    works = () => false;
    expect(await ask()).toEqual({ kind: 'refused', explanation: 'provisioning: token in use' });
    answers = [new PlatformError('refused', 'token in use', { status: 400 })];
    works = () => new PlatformError('busy', 'no route');
    expect(await ask()).toEqual({ kind: 'refused', explanation: 'provisioning: token in use' });
  });

  it('of the program itself is none of an answer', async () => {
    answers = [new TypeError('a fault of ours')];
    expect(await ask()).toBe('a fault of ours');
  });
});

describe('next steps in words', () => {
  const GATEWAY_SETTING = /platform\.accessToken|provisioning\.device|turnstone identity/;

  it.each([
    [{ status: 'FAILURE', errorMsg: 'taken' }, 'turnstone devices rotate'],
    [{ status: 'NOT_FOUND' }, 'its entry of devices:'],
  ])('%j names the settings of the gateway, or those of an attached device', async (answer, ofDevice) => {
    answers = [answer, answer] as unknown as ProvisionAnswer[];
    expect(await ask()).toMatchObject({ explanation: expect.stringMatching(GATEWAY_SETTING) });
    answers = [answer, answer] as unknown as ProvisionAnswer[];
    const told = (await ask(PROPOSAL, BESIDE_WORDS)) as { readonly explanation: string };
    expect(told.explanation).toContain(ofDevice);
    expect(told.explanation).not.toMatch(GATEWAY_SETTING);
  });

  it('never sends a person with a fault of an attached device to the settings of the gateway', () => {
    for (const [step, words] of Object.entries(BESIDE_WORDS)) {
      expect(words, step).not.toMatch(GATEWAY_SETTING);
      expect(GATEWAY_WORDS[step as keyof CredentialWords], step).not.toContain('devices');
    }
  });
});
