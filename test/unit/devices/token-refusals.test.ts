/** When a refused token is given up, what an accepted one forgets, when an offered one is tried, and the RPC methods that offer. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { CredentialsRecord } from '../../../src/devices/credentials-record.ts';
import type { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import { DeviceToken } from '../../../src/devices/device-token.ts';
import { silentLog } from '../../../src/host/log.ts';
import { CREDENTIAL_OPERATIONS } from '../../../src/operations/credential-operations.ts';
import { operationsOn } from '../../../src/operations/operation.ts';
import { mismatchOf } from '../../../src/values/value-shape.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;
const RECORD: CredentialsRecord = {
  phase: 'in-use',
  source: 'provisioned',
  accessToken: 'old',
  board: {},
  generation: 1,
};

let clock: FakeClock;
let record: CredentialsRecord;
let saves: number;
let said: unknown[];
let tried: string[];
let works: string | undefined;
let isReachable: boolean;
let timesReplaced: number;
/** Awaited before a record is changed on the disk. */
let turn: Promise<void> | undefined;
/** Awaited before the platform answers. */
let answer: Promise<void> | undefined;
let provisionings: number;
let secrets: unknown[];
let store: CredentialsStore;

beforeEach(() => {
  clock = new FakeClock({ jitter: 1 });
  record = RECORD;
  [saves, provisionings] = [0, 0];
  [said, tried, secrets] = [[], [], []];
  [works, isReachable, timesReplaced, turn, answer] = [undefined, true, 0, undefined, undefined];
  const kept = {
    get timesReplaced() {
      return timesReplaced;
    },
    record: () => record,
    update: async (_place: string, change: (now: CredentialsRecord) => CredentialsRecord) => {
      saves += 1;
      if (turn !== undefined) await turn;
      record = change(record);
    },
    adopt: async (_place: string, change: (now: CredentialsRecord) => CredentialsRecord) => {
      saves += 1;
      record = change(record);
    },
    read: async () => {},
    saveProvisionSecret: async (secret: object) => void secrets.push(secret),
  };
  // Only what is asked of it.
  store = kept as unknown as CredentialsStore;
});

function open(options: { readonly reprovisions?: boolean } = {}): DeviceToken {
  const reprovision = async (): Promise<CredentialsRecord> => {
    provisionings += 1;
    return record;
  };
  return new DeviceToken(
    {
      store,
      place: 'own',
      clock,
      log: silentLog,
      hide: (secret: string) => void said.push(['hide', secret]),
      tokenWorks: async (token) => {
        tried.push(token);
        if (answer !== undefined) await answer;
        if (!isReachable) throw new Error('no network');
        return token === works;
      },
      ...(options.reprovisions === true ? { reprovision } : {}),
    },
    record,
  );
}

describe('a refused token', () => {
  it('is given up at the third refusal over a whole minute, and counted anew after that', async () => {
    const token = open({ reprovisions: true });
    const refused = (): Promise<boolean> => token.noteRefused('old', never);
    expect([await refused(), await refused(), await refused()]).toEqual([false, false, false]);
    await clock.advance(59_999);
    expect([await refused(), provisionings]).toEqual([false, 0]);
    await clock.advance(1);
    expect([await refused(), provisionings]).toEqual([true, 1]);
    expect(await refused()).toBe(false);
    await clock.advance(60_000);
    expect([await refused(), provisionings]).toEqual([false, 1]);
    expect([await refused(), provisionings]).toEqual([true, 2]);
  });

  it('is kept where nothing else can be done, and nothing is written when it is taken again', async () => {
    const token = open();
    for (let time = 0; time < 5; time += 1) {
      expect(await token.noteRefused('old', never)).toBe(false);
      await clock.advance(60_000);
    }
    token.noteAccepted('other');
    token.noteAccepted('old');
    token.noteAccepted('old');
    expect([token.accessToken, saves]).toEqual(['old', 0]);
  });

  it('is not replaced in an identity that came in its place while the others were tried', async () => {
    record = { ...RECORD, nextToken: 'next' };
    works = 'next';
    const token = open();
    const refused = token.noteRefused('old', never);
    timesReplaced = 1;
    record = { ...RECORD, accessToken: 'of another' };
    await refused;
    expect(record).toStrictEqual({ ...RECORD, accessToken: 'of another' });
  });

  it('of an identity that another one replaces is nothing to do about', async () => {
    record = { ...RECORD, nextToken: 'next' };
    const token = open();
    expect(token.accessToken).toBe('old');
    timesReplaced = 1;
    expect([await token.noteRefused('old', never), tried]).toEqual([false, []]);
  });

  it('makes place for the next, then for earlier ones, and each is kept once', async () => {
    record = { ...RECORD, nextToken: 'next', previousTokens: ['early', 'next', 'old'] };
    works = 'early';
    expect(await open().noteRefused('old', never)).toBe(true);
    expect(tried).toEqual(['next', 'early']);
    expect(record).toStrictEqual({ ...RECORD, accessToken: 'early', previousTokens: ['old', 'next'] });
  });

  it('that is not in use any more says nothing', async () => {
    expect([await open().noteRefused('another', never), tried]).toEqual([true, []]);
  });
});

describe('an accepted token', () => {
  it('forgets those before it, once', async () => {
    record = { ...RECORD, previousTokens: ['early'] };
    const token = open();
    token.noteAccepted('early');
    expect(saves).toBe(0);
    token.noteAccepted('old');
    token.noteAccepted('old');
    await clock.advance(0);
    expect([saves, record]).toStrictEqual([1, RECORD]);
    token.noteAccepted('old');
    await clock.advance(0);
    expect(saves).toBe(1);
  });

  it('forgets once on a slow disk too, and tries again what that did not take', async () => {
    const slow = Promise.withResolvers<void>();
    turn = slow.promise;
    record = { ...RECORD, previousTokens: ['early'] };
    const token = open();
    for (let time = 0; time < 3; time += 1) token.noteAccepted('old');
    expect(saves).toBe(1);
    slow.reject(new Error('ENOSPC'));
    await clock.advance(0);
    turn = undefined;
    token.noteAccepted('old');
    await clock.advance(0);
    expect([saves, record]).toStrictEqual([2, RECORD]);
  });

  it('forgets nothing of what was changed over to before the disk took it', async () => {
    const slow = Promise.withResolvers<void>();
    turn = slow.promise;
    record = { ...RECORD, previousTokens: ['early'] };
    open().noteAccepted('old');
    const changedOver = { ...RECORD, accessToken: 'next', previousTokens: ['old'] };
    record = changedOver;
    slow.resolve();
    await clock.advance(0);
    expect([saves, record]).toStrictEqual([1, changedOver]);
  });

  it('writes nothing for an identity that is for the next start', async () => {
    const token = open();
    timesReplaced = 1;
    record = { ...RECORD, previousTokens: ['early'] };
    token.noteAccepted('old');
    expect(saves).toBe(0);
  });
});

describe('an offered token', () => {
  it('is kept beside the others, whichever came before it', async () => {
    const token = open();
    await token.offerNext('old');
    expect(saves).toBe(0);
    await token.offerNext('next-1');
    expect(record).toStrictEqual({ ...RECORD, nextToken: 'next-1' });
    await token.offerNext('next-1');
    expect(record).toStrictEqual({ ...RECORD, nextToken: 'next-1' });
    await token.offerNext('next-2');
    expect(record).toStrictEqual({ ...RECORD, nextToken: 'next-2', previousTokens: ['next-1'] });
    expect(said).toEqual(['old', 'next-1', 'next-1', 'next-2'].map((secret) => ['hide', secret]));
  });

  it('is tried after five seconds, then ever more seldom, and at once again when another is offered', async () => {
    const token = open();
    const stop = new AbortController();
    const running = token.run(stop.signal);
    await clock.advance(3_599_000);
    expect(tried).toEqual([]);
    await token.offerNext('next');
    await clock.advance(4_999);
    expect(tried).toEqual([]);
    await clock.advance(1);
    expect(tried).toEqual(['next']);
    await clock.advance(9_999);
    expect(tried.length).toBe(1);
    await clock.advance(1);
    expect(tried.length).toBe(2);
    await clock.advance(2_000);
    await token.offerNext('later');
    await clock.advance(5_000);
    expect(tried).toEqual(['next', 'next', 'later']);
    works = 'later';
    await clock.advance(10_000);
    expect([record.accessToken, tried.length]).toEqual(['later', 4]);
    await clock.advance(60_000);
    expect(tried.length).toBe(4);
    stop.abort();
    await running;
    await token.offerNext('last');
    expect(clock.pending).toBe(0);
  });
});

it('an offered token that does not work is tried once an hour in the end', async () => {
  record = { ...RECORD, nextToken: 'next' };
  const stop = new AbortController();
  const running = open().run(stop.signal);
  // 5, 10, 20 … 2560 s, then hours.
  await clock.advance(5_115_000);
  expect(tried.length).toBe(10);
  await clock.advance(3_599_999);
  expect(tried.length).toBe(10);
  await clock.advance(1);
  expect(tried.length).toBe(11);
  stop.abort();
  await running;
});

describe('the RPC methods for secrets', () => {
  const offered: string[] = [];
  const token = { offerNext: async (next: string) => void offered.push(next) };
  const fits = (name: string, params: object): boolean => {
    const method = operationsOn(CREDENTIAL_OPERATIONS, { token, store }).find((one) => one.name === name);
    return method !== undefined && mismatchOf(method.params, params as never, 'params') === undefined;
  };
  const run = (name: string, params: object): unknown => {
    const method = operationsOn(CREDENTIAL_OPERATIONS, { token, store }).find((one) => one.name === name);
    return method?.run(params as never, { asker: 'platform', note: undefined, signal: never });
  };

  it('take secrets of a sensible length, and nothing else', () => {
    const set = (accessToken: unknown, more = {}): boolean => fits('setNextAccessToken', { accessToken, ...more });
    expect([set(''), set('x'), set('x'.repeat(255)), set('x'.repeat(256))]).toEqual([false, true, true, false]);
    expect([set(12345678), fits('setNextAccessToken', {}), set('x'.repeat(8), { more: 1 })]).toEqual([
      false,
      false,
      false,
    ]);
    const secret = (deviceKey: unknown, deviceSecret: unknown): boolean =>
      fits('setProvisioningSecret', { deviceKey, deviceSecret });
    expect([secret('k', 's'), secret('', 's'), secret('k', ''), secret(1, 's'), secret('k', 2)]).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
    expect([
      secret('x'.repeat(255), 'x'.repeat(255)),
      secret('x'.repeat(256), 's'),
      secret('k', 'x'.repeat(256)),
    ]).toEqual([true, false, false]);
    expect([
      fits('setProvisioningSecret', { deviceKey: 'k' }),
      fits('setProvisioningSecret', { deviceSecret: 's' }),
    ]).toEqual([false, false]);
    expect(fits('setProvisioningSecret', { deviceKey: 'k', deviceSecret: 's', more: 1 })).toBe(false);
  });

  it('keep what they are given, answer with nothing of it, and move nothing', async () => {
    expect(await run('setNextAccessToken', { accessToken: 'next-token' })).toEqual({ ready: true });
    expect(await run('setProvisioningSecret', { deviceKey: 'k', deviceSecret: 's' })).toEqual({ ready: true });
    expect([offered, secrets]).toEqual([['next-token'], [{ deviceKey: 'k', deviceSecret: 's' }]]);
    expect(
      operationsOn(CREDENTIAL_OPERATIONS, { token, store }).map(({ effect, moves, deadlineMs }) => [
        effect,
        moves,
        deadlineMs,
      ]),
    ).toEqual([
      ['set', false, 10_000],
      ['set', false, 10_000],
    ]);
  });
});
