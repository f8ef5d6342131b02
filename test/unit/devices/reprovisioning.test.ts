/** A refused token beside everything else that goes on: a rotation, a disk, callers who give up, an identity that is replaced. */

import { beforeEach, describe, expect, it } from 'vitest';
import { GATEWAY_WORDS } from '../../../src/devices/credential-words.ts';
import type { CredentialsRecord } from '../../../src/devices/credentials-record.ts';
import { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import { DeviceToken } from '../../../src/devices/device-token.ts';
import { provisionDevice } from '../../../src/devices/provision-device.ts';
import { silentLog } from '../../../src/host/log.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import type { ProvisionAnswer } from '../../../src/platform/device-api.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { StandingAlerts } from './state-folder.ts';

const never = new AbortController().signal;
const BOARD = { serial: 'S1', hostname: 'h' };
const RECORD: CredentialsRecord = {
  phase: 'in-use',
  source: 'provisioned',
  deviceName: 'gw',
  accessToken: 'old',
  board: BOARD,
  generation: 1,
};

let files: MemoryFiles;
let alerts: StandingAlerts;
let clock: FakeClock;
let store: CredentialsStore;
/** The platform: the token it takes, or that it cannot be asked, and what it says to provisioning. */
let taken: string | undefined;
let isBusy: boolean;
let answer: () => ProvisionAnswer;
let provisionings: number;
let token: DeviceToken;

beforeEach(async () => {
  [files, alerts, clock] = [new MemoryFiles(), new StandingAlerts(), new FakeClock()];
  [taken, isBusy, provisionings] = [undefined, false, 0];
  answer = () => ({ status: 'FAILURE', errorMsg: 'device exists' });
  await files.makeFolder('/state');
  store = await opened();
  await store.save('own', RECORD);
  const common = {
    store,
    clock,
    log: silentLog,
    alerts,
    hide: () => {},
    randomBytes: systemRandomBytes,
    tokenWorks: async (one: string) => {
      if (isBusy) throw new PlatformError('busy', 'too many requests', { status: 429 });
      return one === taken;
    },
  };
  const provision = async (): Promise<ProvisionAnswer> => {
    provisionings += 1;
    return answer();
  };
  const secrets = [{ deviceKey: 'k', deviceSecret: 's' }];
  const reprovision = (signal: AbortSignal): Promise<CredentialsRecord> =>
    provisionDevice({ ...common, words: GATEWAY_WORDS, board: BOARD, deviceName: 'gw', secrets, provision }, signal);
  token = new DeviceToken({ ...common, place: 'own', reprovision }, RECORD);
});

function opened(): Promise<CredentialsStore> {
  return CredentialsStore.open({ stateFolder: '/state', files, clock, log: silentLog, alerts, hide: () => {} });
}

/** Refused three times over a minute: the last one is still under way. */
async function insist(signal = never): Promise<() => unknown> {
  for (let time = 0; time < 2; time += 1) {
    expect(await token.noteRefused(token.accessToken, signal)).toBe(false);
    await clock.advance(35_000);
  }
  return outcomeOf(token.noteRefused(token.accessToken, signal));
}

function outcomeOf(work: Promise<unknown>): () => unknown {
  let outcome: unknown;
  work.then(
    (value) => {
      outcome = value;
    },
    (error: Error) => {
      outcome = error.message;
    },
  );
  return () => outcome;
}

const isKept = (text: string): boolean => files.paths.some((path) => files.contentOf(path).includes(text));

describe('provisioning anew', () => {
  it('waits until it is known whether the platform has taken up the next token', async () => {
    await token.offerNext('next');
    [isBusy, taken] = [true, 'next'];
    for (let time = 0; time < 5; time += 1) {
      expect(await token.noteRefused('old', never)).toBe(false);
      await clock.advance(35_000);
    }
    expect(provisionings).toBe(0);
    isBusy = false;
    expect([await token.noteRefused('old', never), token.accessToken]).toEqual([true, 'next']);
  });

  it('keeps the next token, and one that is offered meanwhile, until one of them is taken', async () => {
    await token.offerNext('next');
    const outcome = await insist();
    await clock.advance(10_000);
    expect([provisionings, isKept('next'), outcome()]).toEqual([1, true, undefined]);
    await token.offerNext('offered');
    taken = 'offered';
    await clock.advance(3_600_000);
    expect([outcome(), token.accessToken]).toEqual([true, 'offered']);
    expect(isKept('next')).toBe(true);
  });

  it.each(['FAILURE', 'NOT_FOUND'] as const)(
    'finds a token again that the platform took up late, although it says %s',
    async (status) => {
      answer = () => ({ status, errorMsg: 'no' });
      await token.offerNext('next');
      const outcome = await insist();
      await clock.advance(10_000);
      taken = 'next';
      await clock.advance(3_600_000);
      expect([outcome(), token.accessToken]).toEqual([true, 'next']);
    },
  );

  it('is heard by each caller’s own signal, and nobody uses a token of which the platform has never heard', async () => {
    const [door, loop] = [new AbortController(), new AbortController()];
    const first = await insist(door.signal);
    const second = outcomeOf(token.noteRefused('old', loop.signal));
    await clock.advance(5_000);
    expect([store.record('own')?.phase, token.accessToken]).toEqual(['proposed', 'old']);
    loop.abort(new Error('the loop ends'));
    await clock.advance(0);
    expect([first(), second()]).toEqual([undefined, 'the loop ends']);
    door.abort(new Error('the call ends'));
    await clock.advance(0);
    expect([first(), token.accessToken]).toEqual(['the call ends', 'old']);
    // What was proposed is asked with at the next start, and this one is tried beside it.
    token.noteAccepted('old');
    await store.update('own', (record) => record);
    expect(store.record('own')).toMatchObject({ phase: 'proposed', deviceName: 'gw', previousTokens: ['old'] });
  });

  it('is not begun because of callers who gave up', async () => {
    await token.offerNext('next');
    isBusy = true;
    for (let time = 0; time < 3; time += 1) {
      const stop = new AbortController();
      const outcome = outcomeOf(token.noteRefused('old', stop.signal));
      stop.abort(new Error('enough'));
      await clock.advance(35_000);
      expect(outcome()).toBe('enough');
    }
    expect(provisionings).toBe(0);
  });

  it('does not go over an identity that was imported meanwhile', async () => {
    const outcome = await insist();
    await clock.advance(10_000);
    await store.replaceOwn({ ...RECORD, accessToken: 'imported', source: 'imported', generation: 2 });
    answer = () => ({ status: 'SUCCESS', credentialsType: 'ACCESS_TOKEN', credentialsValue: 'given' });
    await clock.advance(3_600_000);
    expect([outcome(), (await opened()).record('own')?.accessToken]).toEqual([
      expect.stringContaining('ended'),
      'imported',
    ]);
  });
});

describe('a change-over', () => {
  it('waits for no disk, says that it is not kept, and is kept as soon as the disk takes it', async () => {
    await token.offerNext('next');
    taken = 'next';
    files.faults = { fail: (_operation, path) => (path.endsWith('.tmp') ? { code: 'EROFS' } : undefined) };
    expect([await token.noteRefused('old', never), token.accessToken]).toEqual([true, 'next']);
    expect(alerts.standing.get('credentials-not-kept')).toContain('EROFS');
    files.faults = {};
    const stop = new AbortController();
    const keeping = store.keepWhole(stop.signal);
    await clock.advance(60_000);
    expect([(await opened()).record('own')?.accessToken, alerts.standing.size]).toEqual(['next', 0]);
    stop.abort();
    await keeping;
  });

  it('remembers eight earlier tokens and not ever more of them', async () => {
    for (let time = 1; time <= 20; time += 1) await token.offerNext(`next-${time}`);
    const newest = Array.from({ length: 8 }, (_none, at) => `next-${19 - at}`);
    expect(store.record('own')).toMatchObject({ nextToken: 'next-20', previousTokens: newest });
  });
});

describe('an identity that was put in the place of this one', () => {
  it('is for the next start: until then requests go with the token with which their readings were measured', async () => {
    await store.replaceOwn({ ...RECORD, accessToken: 'imported', source: 'imported', previousTokens: ['x'] });
    expect(token.accessToken).toBe('old');
    token.noteAccepted('old');
    taken = 'x';
    expect(await token.noteRefused('old', never)).toBe(false);
    await expect(token.offerNext('next')).rejects.toMatchObject({ code: 'provisioning/replaced' });
    expect((await opened()).record('own')).toMatchObject({ accessToken: 'imported', previousTokens: ['x'] });
  });

  it('may be none', async () => {
    await store.forget({ setsQueueAside: false });
    taken = 'x';
    expect([token.accessToken, await token.noteRefused('old', never)]).toEqual(['old', false]);
    expect((await opened()).record('own')).toBeUndefined();
  });
});
