/** Which board is the device: each answer of the platform, what is kept of it, how often it is asked, and when it is no longer waited for. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { CredentialsRecord } from '../../../src/devices/credentials-record.ts';
import type { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import { IdentityOwnership } from '../../../src/devices/ownership.ts';
import { silentLog } from '../../../src/host/log.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import type { JsonObject, JsonValue } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { StandingAlerts } from './state-folder.ts';

const never = new AbortController().signal;
const RECORD: CredentialsRecord = {
  phase: 'in-use',
  source: 'provisioned',
  accessToken: 't',
  board: {},
  generation: 2,
};

let clock: FakeClock;
let alerts: StandingAlerts;
let record: CredentialsRecord | undefined;
/** What the platform keeps under the key; or what it answers. */
let owner: JsonValue | undefined;
let fault: Error | undefined;
let asked: number;
let posted: JsonObject[];
let saves: number;
let timesReplaced: number;

beforeEach(() => {
  clock = new FakeClock();
  alerts = new StandingAlerts();
  record = RECORD;
  [owner, fault] = [undefined, undefined];
  [asked, saves, timesReplaced] = [0, 0, 0];
  posted = [];
});

function open(board: { readonly serial?: string; readonly mac?: string } = { serial: 'S1' }): IdentityOwnership {
  const store = {
    get timesReplaced() {
      return timesReplaced;
    },
    record: () => record,
    adopt: async (_place: string, change: (now: CredentialsRecord) => CredentialsRecord) => {
      saves += 1;
      if (record !== undefined) record = change(record);
    },
  };
  const deviceApi = {
    getAttributes: async (): Promise<{ client: JsonObject; shared: JsonObject; empty: boolean }> => {
      asked += 1;
      if (fault !== undefined) throw fault;
      return { client: owner === undefined ? {} : { turnstoneOwner: owner }, shared: {}, empty: owner === undefined };
    },
    postAttributes: async (attributes: JsonObject) => {
      posted.push(attributes);
    },
  };
  return new IdentityOwnership({
    deviceApi,
    place: 'own',
    board: { hostname: 'gw', ...board },
    clock,
    alerts,
    log: silentLog,
    // Only what is asked of it.
    store: store as unknown as CredentialsStore,
  });
}

/** What comes out while time goes by; undefined when it hangs. */
async function checked(ownership: IdentityOwnership): Promise<unknown> {
  let outcome: unknown;
  void ownership.check(never).then(
    (found) => {
      outcome = found;
    },
    (error: Error) => {
      outcome = error.message;
    },
  );
  await clock.advance(10_000);
  return outcome;
}

describe('a check', () => {
  it('puts this board’s mark and number where nobody was named, once', async () => {
    const ownership = open();
    expect(await checked(ownership)).toBe('ours');
    const mark = (posted[0]?.turnstoneOwner as JsonObject | undefined)?.board;
    expect(mark).toMatch(/^[0-9a-f]{16}$/);
    expect([posted, asked, saves]).toEqual([[{ turnstoneOwner: { board: mark, generation: 2 } }], 1, 0]);
    owner = { board: mark ?? null, generation: 2 };
    expect(await checked(ownership)).toBe('ours');
    owner = { board: 'another', generation: 1 };
    expect(await checked(ownership)).toBe('ours');
    expect([posted.length, saves, alerts.standing.size]).toEqual([2, 0, 0]);
  });

  it('names a board by its serial number, else its MAC, and one without either not at all', async () => {
    const marks: unknown[] = [];
    for (const board of [{ serial: 'S1' }, { serial: 'S1', mac: 'M' }, { mac: 'S1' }, { mac: 'M' }]) {
      [posted, record] = [[], RECORD];
      await checked(open(board));
      marks.push((posted[0]?.turnstoneOwner as JsonObject | undefined)?.board);
    }
    expect([marks[0] === marks[1], marks[0] === marks[2], marks[0] === marks[3]]).toEqual([true, true, false]);
    [asked, posted] = [0, []];
    expect([await checked(open({})), posted]).toEqual(['ours', []]);
    // It can be replaced all the same.
    [asked, owner] = [0, { board: 'new', generation: 9 }];
    expect([await checked(open({})), asked]).toEqual(['replaced', 1]);
    record = undefined;
    expect([await checked(open()), asked]).toEqual(['ours', 1]);
  });

  it('asks nothing once another identity is kept for the next start: its number would be taken for that of this one', async () => {
    const ownership = open();
    await checked(ownership);
    [asked, saves, posted] = [0, 0, []];
    [record, timesReplaced, owner] = [{ ...RECORD, generation: 1 }, 1, { board: 'another', generation: 2 }];
    expect([await checked(ownership), asked, saves, posted]).toEqual(['ours', 0, 0, []]);
  });

  it('that finds a higher number stands back, keeps it, and says so; and comes back when the number does', async () => {
    const ownership = open();
    owner = { board: 'new', generation: 3 };
    expect(await checked(ownership)).toBe('replaced');
    expect([record?.replacedBy, saves, posted]).toEqual([3, 1, []]);
    expect([ownership.held, alerts.standing.get('identity-moved')]).toEqual(
      Array(2).fill(expect.stringContaining('identity adopt')),
    );
    expect([await checked(ownership), saves]).toEqual(['replaced', 1]);
    owner = { board: 'newer', generation: 4 };
    expect([await checked(ownership), record?.replacedBy, saves]).toEqual(['replaced', 4, 2]);
    const restarted = open();
    expect(restarted.held).toBeDefined();
    owner = { board: 'new', generation: 1 };
    expect(await checked(restarted)).toBe('ours');
    expect([restarted.held, record?.replacedBy, alerts.standing.size]).toEqual([undefined, undefined, 0]);
  });

  it('that finds its own number on another board has found a copy, and sends', async () => {
    const ownership = open();
    owner = { board: 'another', generation: 2 };
    expect(await checked(ownership)).toBe('shared');
    expect([ownership.held, posted, alerts.standing.get('identity-on-two-boards')]).toEqual([
      undefined,
      [],
      expect.stringContaining('copy'),
    ]);
    owner = undefined;
    expect(await checked(ownership)).toBe('ours');
    expect(alerts.standing.size).toBe(0);
  });

  it('that finds nobody stays replaced by a higher number than its own only', async () => {
    record = { ...RECORD, replacedBy: 3 };
    expect([await checked(open()), posted]).toEqual(['replaced', []]);
    record = { ...RECORD, replacedBy: 2 };
    const ownership = open();
    expect([await checked(ownership), ownership.held, record.replacedBy]).toEqual(['ours', undefined, undefined]);
  });

  it('takes what makes no sense for nobody', async () => {
    for (const senseless of [
      null,
      'x',
      [],
      { board: 5, generation: 9 },
      { board: 'x' },
      { board: 'x', generation: 9.5 },
      { board: 'x', generation: '9' },
    ]) {
      [owner, record] = [senseless, RECORD];
      expect(await checked(open())).toBe('ours');
    }
  });

  it('that finds a higher number for this very board takes that number as its own, by any of its marks', async () => {
    record = { ...RECORD, board: { serial: 'S1', mac: 'M1' } };
    const markOf = async (board: { readonly serial?: string; readonly mac?: string }): Promise<JsonValue> => {
      [owner, posted] = [undefined, []];
      await checked(open(board));
      return (posted[0]?.turnstoneOwner as JsonObject | undefined)?.board ?? null;
    };
    const kept = record;
    for (const mark of [await markOf({ serial: 'S1' }), await markOf({ mac: 'M1' })])
      for (const board of [{ serial: 'S1' }, { mac: 'M1' }, {}]) {
        [record, posted, owner] = [kept, [], { board: mark, generation: 5 }];
        const ownership = open(board);
        expect([await checked(ownership), record.generation, ownership.held, posted]).toEqual([
          'ours',
          5,
          undefined,
          [],
        ]);
      }
  });

  it('that finds its own number on another board takes the next where a person has just made it the device', async () => {
    record = { ...RECORD, takesOver: true };
    owner = { board: 'another', generation: 2 };
    expect(await checked(open())).toBe('ours');
    expect(record).toStrictEqual({ ...RECORD, generation: 3 });
    expect(posted).toEqual([{ turnstoneOwner: { board: expect.any(String), generation: 3 } }]);
    expect(alerts.standing.size).toBe(0);
  });
});

describe('before anything is sent', () => {
  async function settled(ownership: IdentityOwnership, signal = never): Promise<() => unknown> {
    let outcome: unknown;
    void ownership.settle(signal).then(
      () => {
        outcome = 'settled';
      },
      (error: Error) => {
        outcome = error.message;
      },
    );
    await clock.advance(0);
    return () => outcome;
  }

  it.each([
    new PlatformError('busy', 'ill', { status: 503 }),
    new PlatformError('bad-answer', 'reading attributes: the answer is no object'),
  ])(
    'it is waited for a network without end, and ten minutes for other answers, as $message; meanwhile nothing is sent',
    async (other) => {
      fault = new PlatformError('busy', 'no route');
      const ownership = open();
      const outcome = await settled(ownership);
      await clock.advance(600_000);
      expect(outcome()).toBeUndefined();
      const before = asked;
      fault = other;
      await clock.advance(599_000);
      expect([outcome(), ownership.held]).toEqual([undefined, expect.stringContaining('not said yet')]);
      await clock.advance(31_000);
      expect([outcome(), ownership.held, asked - before > 5]).toEqual(['settled', undefined, true]);
    },
  );

  it('a platform that starts again behind a proxy is waited for, and a replaced board stands back', async () => {
    fault = new PlatformError('busy', 'ill', { status: 503 });
    const ownership = open();
    const outcome = await settled(ownership);
    await clock.advance(120_000);
    expect([outcome(), asked > 5]).toEqual([undefined, true]);
    [fault, owner] = [undefined, { board: 'new', generation: 3 }];
    await clock.advance(15_000);
    expect([outcome(), ownership.held]).toEqual(['settled', expect.stringContaining('moved to another board')]);
  });

  it('a refused token, or the agent’s end, is not waited for, and a fault of the program is told', async () => {
    fault = new PlatformError('unauthorised', 'no', { status: 401 });
    const refused = open();
    expect([(await settled(refused))(), asked, refused.held]).toEqual([
      'settled',
      1,
      expect.stringContaining('not said yet'),
    ]);
    fault = new TypeError('a fault of ours');
    expect((await settled(open()))()).toBe('a fault of ours');
    const stop = new AbortController();
    fault = new PlatformError('busy', 'no route');
    const outcome = await settled(open(), stop.signal);
    expect(outcome()).toBeUndefined();
    stop.abort();
    await clock.advance(0);
    expect([outcome(), clock.pending]).toEqual(['settled', 0]);
    asked = 0;
    expect([(await settled(open(), stop.signal))(), asked]).toEqual(['settled', 0]);
  });

  it('and then it is asked every ten minutes, or twice a minute while it is not known', async () => {
    const ownership = open();
    const stop = new AbortController();
    fault = new PlatformError('busy', 'no route');
    const running = ownership.run(stop.signal);
    await clock.advance(29_999);
    expect(asked).toBe(0);
    await clock.advance(30_001);
    expect(asked).toBe(2);
    fault = undefined;
    // Lower than ours: it is put right without a second question.
    owner = { board: 'another', generation: 1 };
    await clock.advance(30_000);
    expect(asked).toBe(3);
    await clock.advance(599_999);
    expect(asked).toBe(3);
    await clock.advance(1);
    expect(asked).toBe(4);
    fault = new PlatformError('busy', 'no route');
    await clock.advance(600_000);
    expect(asked).toBe(5);
    stop.abort();
    await running;
    expect([asked, clock.pending]).toEqual([5, 0]);
    const known = open();
    fault = undefined;
    await known.settle(never);
    asked = 0;
    const next = new AbortController();
    const second = known.run(next.signal);
    await clock.advance(599_999);
    expect(asked).toBe(0);
    fault = new TypeError('a fault of ours');
    const failed = second.catch((error: Error) => error.message);
    await clock.advance(1);
    expect(await failed).toBe('a fault of ours');
  });
});
