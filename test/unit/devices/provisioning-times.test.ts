/** How long provisioning waits after each kind of answer, and which token it proposes; over a store that takes no time. */

import { beforeEach, describe, expect, it } from 'vitest';
import { GATEWAY_WORDS } from '../../../src/devices/credential-words.ts';
import type { CredentialsRecord } from '../../../src/devices/credentials-record.ts';
import type { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import { provisionDevice } from '../../../src/devices/provision-device.ts';
import { silentLog } from '../../../src/host/log.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import type { ProvisionAnswer } from '../../../src/platform/device-api.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { StandingAlerts } from './state-folder.ts';

const BOARD = { serial: 'S1', hostname: 'gw' };
const NOT_FOUND: ProvisionAnswer = { status: 'NOT_FOUND', errorMsg: 'no profile' };

let clock: FakeClock;
let alerts: StandingAlerts;
let kept: CredentialsRecord | undefined;
let saves: number;
let proposed: (string | undefined)[];
let askedAtS: number[];
let answer: ProvisionAnswer | Error;

beforeEach(() => {
  clock = new FakeClock({ monotonicMs: 0, jitter: 1 });
  alerts = new StandingAlerts();
  [kept, saves, proposed, askedAtS] = [undefined, 0, [], []];
});

/** Asks for so long, and ends. */
async function askFor(ms: number): Promise<unknown> {
  const store = {
    record: () => kept,
    save: async (_place: string, record: (now: CredentialsRecord | undefined) => CredentialsRecord) => {
      saves += 1;
      kept = record(kept);
    },
  };
  const stop = new AbortController();
  const asking = provisionDevice(
    {
      clock,
      alerts,
      log: silentLog,
      board: BOARD,
      deviceName: 'gateway',
      words: GATEWAY_WORDS,
      hide: () => {},
      randomBytes: systemRandomBytes,
      secrets: [{ deviceKey: 'k', deviceSecret: 's' }],
      provision: async ({ token }) => {
        proposed.push(token);
        askedAtS.push(clock.monotonicMs() / 1_000);
        if (answer instanceof Error) throw answer;
        return answer;
      },
      tokenWorks: async () => false,
      // Only what is asked of it.
      store: store as unknown as CredentialsStore,
    },
    stop.signal,
  ).then(
    ({ accessToken }) => accessToken,
    (error: { code: string }) => error.code,
  );
  await clock.advance(ms);
  stop.abort();
  return await asking;
}

const waits = (): number[] => askedAtS.slice(1).map((atS, at) => atS - (askedAtS[at] ?? 0));

describe('provisioning waits', () => {
  it('seconds for a network or a busy platform, a minute at most, without an alert', async () => {
    answer = new PlatformError('busy', 'no route');
    expect(await askFor(300_000)).toBe('provisioning/aborted');
    expect(waits()).toEqual([2, 4, 8, 16, 32, 60, 60, 60]);
    expect(alerts.standing.size).toBe(0);
  });

  it('half a minute behind a login page, five minutes at most, without an alert, as the contact tells of it', async () => {
    answer = new PlatformError('portal', 'a login page');
    await askFor(1_500_000);
    expect(waits()).toEqual([30, 60, 120, 240, 300, 300, 300]);
    expect(alerts.standing.size).toBe(0);
  });

  it('five minutes after a refusal, an hour at most, with one', async () => {
    answer = NOT_FOUND;
    await askFor(16_000_000);
    expect(waits()).toEqual([300, 600, 1_200, 2_400, 3_600, 3_600, 3_600]);
    expect(alerts.standing.size).toBe(1);
  });
});

it('a token that cannot stand in an address is a refusal, and nothing of it is kept', async () => {
  answer = { status: 'SUCCESS', credentialsType: 'ACCESS_TOKEN', credentialsValue: 'with blank' };
  expect(await askFor(1_000_000)).toBe('provisioning/aborted');
  expect([waits(), kept?.phase]).toEqual([[300, 600], 'proposed']);
  expect(alerts.standing.get('provisioning')).toContain('cannot stand in an address');
});

describe('the token that is proposed', () => {
  it('is the same at every question, and after a restart', async () => {
    answer = new PlatformError('busy', 'no route');
    await askFor(10_000);
    await askFor(10_000);
    expect([new Set(proposed).size, saves, kept?.phase]).toEqual([1, 1, 'proposed']);
  });

  it('is another one for another name, and the earlier one is not lost', async () => {
    kept = {
      phase: 'proposed',
      source: 'provisioned',
      deviceName: 'earlier',
      accessToken: 'first',
      board: BOARD,
      generation: 2,
      previousTokens: ['zero'],
    };
    answer = new PlatformError('busy', 'no route');
    await askFor(1_000);
    expect(kept).toMatchObject({ deviceName: 'gateway', previousTokens: ['first', 'zero'], generation: 2 });
    expect(proposed[0]).not.toBe('first');
  });

  it('is another one where the card is a copy that never reached the platform, whatever the name', async () => {
    const board = { serial: 'FACTORY', hostname: 'gw' };
    kept = {
      phase: 'proposed',
      source: 'provisioned',
      deviceName: 'gateway',
      accessToken: 'first',
      board,
      generation: 1,
    };
    answer = new PlatformError('busy', 'no route');
    await askFor(1_000);
    expect([proposed[0] === 'first', kept.previousTokens, kept.board]).toEqual([false, undefined, BOARD]);
  });

  it('is in use once the platform has taken it, and the alert is over', async () => {
    answer = NOT_FOUND;
    await askFor(1_000);
    answer = { status: 'SUCCESS', credentialsType: 'ACCESS_TOKEN', credentialsValue: 'given' };
    expect(await askFor(1_000)).toBe('given');
    expect([kept?.phase, kept?.accessToken, kept?.previousTokens, alerts.standing.size]).toEqual([
      'in-use',
      'given',
      [proposed[0]],
      0,
    ]);
  });
});
