/** What people ask about the identity, by name: each request's needs, answer and consequence. */

import { beforeEach, describe, expect, it } from 'vitest';
import { CLAIM_FILE, claimDevice, claimText, openClaim } from '../../../src/devices/claim-device.ts';
import type { CredentialsPlace, CredentialsRecord } from '../../../src/devices/credentials-record.ts';
import type { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import { identityControl } from '../../../src/devices/identity-requests.ts';
import { adoptIdentity, unpackIdentity } from '../../../src/devices/move-identity.ts';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { openLocalDoor } from '../../../src/operations/local-door.ts';
import { operationsOf } from '../../../src/operations/operation-table.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { doorTo } from '../../support/socket-operations.ts';

const never = new AbortController().signal;
const BOARD = { serial: 'S1', hostname: 'gw' };
const RECORD: CredentialsRecord = {
  phase: 'in-use',
  source: 'provisioned',
  deviceName: 'gateway-1',
  accessToken: 'the-token',
  generation: 3,
  board: { serial: 'S0', hostname: 'gw' },
};
const PASSPHRASE = 'correct horse battery';

let clock: FakeClock;
let files: MemoryFiles;
let records: Record<string, CredentialsRecord | undefined>;
let provisionSecret: { readonly deviceKey: string; readonly deviceSecret: string } | undefined;
let calls: unknown[];
let isOnline: boolean;
let readFault: Error | undefined;
let wasSetAside: boolean | undefined;

const store = {
  read: async () => {
    if (readFault !== undefined) throw readFault;
  },
  record: (place: string) => records[place],
  get provisionSecret() {
    return provisionSecret;
  },
  save: async (place: string, record: (now: CredentialsRecord | undefined) => CredentialsRecord) => {
    records[place] = record(records[place]);
  },
  replaceOwn: async (record: CredentialsRecord, more: { readonly provisionSecret?: typeof provisionSecret }) => {
    records.own = record;
    provisionSecret = more.provisionSecret ?? provisionSecret;
  },
  saveProvisionSecret: async (secret: { deviceKey: string; deviceSecret: string }) => {
    provisionSecret = secret;
  },
  forget: async ({ setsQueueAside }: { readonly setsQueueAside: boolean }) => {
    records = {};
    wasSetAside = setsQueueAside;
  },
  // Only what is asked of it.
} as unknown as CredentialsStore;

beforeEach(() => {
  clock = new FakeClock();
  files = new MemoryFiles();
  records = { own: RECORD };
  [provisionSecret, calls, isOnline, readFault] = [undefined, [], true, undefined];
});

function ask(name: string, params: JsonObject = {}, place: CredentialsPlace = 'own'): Promise<unknown> {
  const machine = { clock, files, randomBytes: systemRandomBytes };
  const identity = identityControl({
    store,
    place,
    board: BOARD,
    stateFolder: '/state',
    ...machine,
    claim: (request, signal) =>
      claimDevice(
        {
          ...machine,
          stateFolder: '/state',
          hide: (secret) => void calls.push(['hide', secret]),
          deviceApi: isOnline ? { claim: async (claim) => void calls.push(['claim', claim]) } : undefined,
          deviceName: store.record(place)?.deviceName,
        },
        request,
        signal,
      ),
    takeUp: () => void calls.push('take up'),
  });
  const credentials = { token: { offerNext: async (token: string) => void calls.push(['offer', token]) }, store };
  return openLocalDoor('site', doorTo(operationsOf({ identity, credentials })))
    .ask(name, params, never)
    .catch((error: { code?: string; recovery?: string }) => [error.code, error.recovery]);
}

describe('the identity desk', () => {
  it('shows all that is no secret', async () => {
    const credentials = {
      phase: 'in-use',
      source: 'provisioned',
      generation: 3,
      board: RECORD.board,
      deviceName: 'gateway-1',
      tokenFingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
      rotationUnderWay: false,
      replaced: false,
    };
    expect(await ask('showIdentity')).toEqual({ board: BOARD, credentials, provisioningSecretRotated: false });
    const { deviceName: _none, ...unnamed } = RECORD;
    records.own = { ...unnamed, nextToken: 'next', replacedBy: 4 };
    provisionSecret = { deviceKey: 'k', deviceSecret: 's' };
    const { deviceName: _name, ...others } = credentials;
    expect(await ask('showIdentity')).toEqual({
      board: BOARD,
      provisioningSecretRotated: true,
      credentials: { ...others, rotationUnderWay: true, replaced: true },
    });
    expect(JSON.stringify(await ask('showIdentity'))).not.toMatch(/the-token|"next"/);
    records = {};
    expect(await ask('showIdentity')).toMatchObject({ credentials: { phase: 'none' } });
  });

  it('claims under the device’s name, with what is given and makes sense', async () => {
    expect(await ask('claim', { secretKey: 'mine', durationMs: 5_000 })).toEqual({
      deviceName: 'gateway-1',
      secretKey: 'mine',
      untilMs: clock.wallMs() + 5_000,
      untilIsEstimate: false,
      alreadyOpen: false,
    });
    expect(calls).toEqual([
      ['hide', 'mine'],
      ['claim', { secretKey: 'mine', durationMs: 5_000 }],
    ]);
    files = new MemoryFiles();
    records = {};
    expect(await ask('claim', { secretKey: 5, durationMs: 'x' })).toEqual(['agent/bad-request', 'drop']);
    const made = (await ask('claim')) as JsonObject;
    expect(made).toMatchObject({ untilMs: clock.wallMs() + 86_400_000, untilIsEstimate: true });
    expect(made.deviceName).toBeUndefined();
    isOnline = false;
    expect(await ask('claim')).toEqual(['provisioning/no-credentials', 'hold']);
  });

  it('moves an identity with a passphrase, and has the change taken up', async () => {
    provisionSecret = { deviceKey: 'k', deviceSecret: 's' };
    const { text } = (await ask('exportIdentity', { passphrase: PASSPHRASE })) as { text: string };
    expect(calls).toEqual([]);
    expect(await ask('importIdentity', { text, passphrase: PASSPHRASE })).toEqual([
      'provisioning/has-credentials',
      'drop',
    ]);
    expect(await ask('importIdentity', { text, passphrase: PASSPHRASE, replace: 'yes' })).toEqual([
      'agent/bad-request',
      'drop',
    ]);
    provisionSecret = undefined;
    expect(await ask('importIdentity', { text, passphrase: PASSPHRASE, replace: true })).toEqual({
      deviceName: 'gateway-1',
      setsQueueAside: false,
    });
    expect(records.own).toEqual({ ...RECORD, source: 'imported', takesOver: true, board: BOARD, generation: 4 });
    expect([provisionSecret, calls]).toEqual([{ deviceKey: 'k', deviceSecret: 's' }, ['take up']]);
    records = {};
    expect([await ask('exportIdentity', { passphrase: PASSPHRASE }), calls.length]).toEqual([
      ['provisioning/no-credentials', 'drop'],
      1,
    ]);
    records.own = { ...RECORD, phase: 'proposed' };
    expect(await ask('exportIdentity', { passphrase: PASSPHRASE })).toEqual(['provisioning/no-credentials', 'drop']);
    const { deviceName: _none, ...unnamed } = RECORD;
    records.own = unnamed;
    const { text: anonymous } = (await ask('exportIdentity', { passphrase: PASSPHRASE })) as { text: string };
    const moves = { store, board: BOARD };
    await expect(unpackIdentity(moves, { text: anonymous, passphrase: PASSPHRASE, replace: false })).rejects.toThrow(
      'provisioned already; --',
    );
    records.own = { ...RECORD, phase: 'proposed' };
    expect(await unpackIdentity(moves, { text: anonymous, passphrase: PASSPHRASE, replace: false })).toEqual({
      setsQueueAside: false,
    });
  });

  it('adopts nothing that is only proposed', async () => {
    records.own = { ...RECORD, phase: 'proposed' };
    expect(await ask('adoptIdentity')).toEqual(['provisioning/no-credentials', 'drop']);
    expect([records.own, calls]).toEqual([{ ...RECORD, phase: 'proposed' }, []]);
  });

  it('adopts, forgets and replaces secrets, and needs what each takes', async () => {
    records.own = { ...RECORD, replacedBy: 7 };
    expect([await ask('adoptIdentity'), records.own, calls]).toEqual([
      {},
      { ...RECORD, board: BOARD, generation: 8, takesOver: true },
      ['take up'],
    ]);
    records.own = RECORD;
    await ask('adoptIdentity');
    expect(records.own.generation).toBe(4);
    expect([await ask('forgetIdentity'), records, calls.length]).toEqual([{}, {}, 3]);
    await expect(adoptIdentity({ store, board: BOARD, place: 'own' })).rejects.toMatchObject({
      code: 'provisioning/no-credentials',
    });
    expect([await ask('adoptIdentity'), calls.length]).toEqual([['provisioning/no-credentials', 'drop'], 3]);
    expect([await ask('setNextAccessToken', { accessToken: 'next' }), calls.at(-1)]).toEqual([
      { ready: true },
      ['offer', 'next'],
    ]);
    expect([await ask('setProvisioningSecret', { deviceKey: 'k', deviceSecret: 's' }), provisionSecret]).toEqual([
      { ready: true },
      { deviceKey: 'k', deviceSecret: 's' },
    ]);
    const bad = ['agent/bad-request', 'drop'];
    expect([
      await ask('setNextAccessToken', { accessToken: '' }),
      await ask('setProvisioningSecret', { deviceKey: 5 }),
    ]).toEqual([bad, bad]);
    expect([await ask('exportIdentity'), await ask('importIdentity', { text: 'x' })]).toEqual([bad, bad]);
  });

  it('takes no provisioning secret that would not be read again', async () => {
    const pair = { deviceKey: 'k'.repeat(255), deviceSecret: 's'.repeat(255) };
    expect([await ask('setProvisioningSecret', pair), provisionSecret]).toEqual([{ ready: true }, pair]);
    for (const name of ['deviceKey', 'deviceSecret'])
      expect(await ask('setProvisioningSecret', { ...pair, [name]: 'x'.repeat(256) })).toEqual([
        'agent/bad-request',
        'drop',
      ]);
    expect(provisionSecret).toEqual(pair);
  });
});

describe('an open claim', () => {
  const open = (): Promise<unknown> =>
    openClaim({ stateFolder: '/state', clock, hide: (secret) => void calls.push(secret), files });
  const put = (content: object): void => files.put(`/state/${CLAIM_FILE}`, JSON.stringify(content));
  const state = (): object => ({ secretKey: 's', untilMs: clock.wallMs() + 1 });

  it('is one that has not ended, in a file that makes sense', async () => {
    expect(await open()).toBeUndefined();
    put({ format: 'turnstone/claim', version: 1, state: state() });
    expect([await open(), calls]).toEqual([
      { secretKey: 's', untilMs: clock.wallMs() + 1, untilIsEstimate: false },
      ['s'],
    ]);
    put({ format: 'turnstone/claim', version: 1, state: { ...state(), untilIsEstimate: true } });
    expect(await open()).toMatchObject({ untilIsEstimate: true });
    for (const content of [
      { format: 'turnstone/claim', state: { ...state(), untilMs: clock.wallMs() } },
      { format: 'turnstone/claim', state: { ...state(), untilMs: 'x' } },
      { format: 'turnstone/claim', state: { ...state(), secretKey: 5 } },
      { format: 'turnstone/claim', state: [] },
      { format: 'another', state: state() },
      [],
    ]) {
      put(content);
      expect(await open()).toBeUndefined();
    }
  });

  it('is sent again as it was, for as long as it is open, whatever else is asked', async () => {
    put({
      format: 'turnstone/claim',
      version: 1,
      state: { secretKey: 'first', untilMs: clock.wallMs() + 9_000, untilIsEstimate: true },
    });
    await clock.advance(4_000);
    expect(await ask('claim', { secretKey: 'other' })).toMatchObject({
      deviceName: 'gateway-1',
      secretKey: 'first',
      alreadyOpen: true,
    });
    expect(await ask('claim')).toMatchObject({ secretKey: 'first', alreadyOpen: true });
    // The platform would prolong none.
    expect(await ask('claim', { secretKey: 'first', durationMs: 60_000 })).toMatchObject({
      secretKey: 'first',
      alreadyOpen: true,
      untilMs: clock.wallMs() + 5_000,
    });
    expect(calls.filter((call) => Array.isArray(call) && call[0] === 'claim')).toEqual(
      Array(3).fill(['claim', { secretKey: 'first', durationMs: 5_000 }]),
    );
  });

  it('is on the disk before the platform has it', async () => {
    files.faults = { fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) };
    expect(await ask('claim', { secretKey: 'mine' })).toEqual(['host/write-failed', 'retry']);
    expect(calls).toEqual([['hide', 'mine']]);
  });

  it('is two things in its code, or one where the name is not known', () => {
    expect(claimText({ secretKey: 's' })).toBe('{"secretKey":"s"}');
  });
});

describe('the desk', () => {
  it('says that the credentials cannot be read, and never that there are none', async () => {
    records = {};
    readFault = new AgentError('host/read-failed', 'no', { recovery: 'retry' });
    for (const [name, params] of Object.entries({
      showIdentity: {},
      exportIdentity: { passphrase: PASSPHRASE },
      claim: {},
      forgetIdentity: {},
      setNextAccessToken: { accessToken: 'next' },
      setProvisioningSecret: { deviceKey: 'k', deviceSecret: 's' },
    }))
      expect(await ask(name, params)).toEqual(['host/read-failed', 'retry']);
    expect(calls).toEqual([]);
  });

  it('forgets what a copied card brought along to deliver, and keeps what this board measured', async () => {
    await ask('forgetIdentity');
    expect(wasSetAside).toBe(true);
    records = { own: { ...RECORD, board: BOARD } };
    await ask('forgetIdentity');
    expect(wasSetAside).toBe(false);
  });

  it('neither imports nor forgets beside a token of the configuration, which would win again at the next start', async () => {
    records.configured = RECORD;
    for (const [name, params] of Object.entries({
      importIdentity: { text: 'x', passphrase: PASSPHRASE },
      forgetIdentity: {},
    }))
      expect(await ask(name, params, 'configured')).toEqual(['provisioning/token-configured', 'drop']);
    expect([calls, records.own, records.configured]).toEqual([[], RECORD, RECORD]);
  });
});
