import { describe, expect, it } from 'vitest';
import { sealArchive } from '../../../src/devices/archive.ts';
import type { CredentialsRecord } from '../../../src/devices/credentials-record.ts';
import { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import { adoptIdentity, packIdentity, unpackIdentity } from '../../../src/devices/move-identity.ts';
import { IdentityOwnership, OWNER_KEY } from '../../../src/devices/ownership.ts';
import { silentLog } from '../../../src/host/log.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { type JsonObject, jsonOf } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { openStore, StandingAlerts, stateFolder } from './state-folder.ts';

const PASSPHRASE = 'correct horse battery';
const OLD_BOARD = { serial: 'OLD', hostname: 'gw' };
const NEW_BOARD = { serial: 'NEW', hostname: 'gw' };
const RECORD: CredentialsRecord = {
  phase: 'in-use',
  source: 'provisioned',
  deviceName: 'gateway-OLD',
  accessToken: 'the-token',
  board: OLD_BOARD,
  generation: 1,
};

/** One platform device, and a board with a state folder of its own before it. */
async function board(
  identity: typeof OLD_BOARD,
  attributes: Record<string, JsonObject[string]>,
  record?: CredentialsRecord,
) {
  const folder = await stateFolder();
  const store = await openStore(folder);
  if (record !== undefined) await store.save('own', record);
  const alerts = new StandingAlerts();
  const deviceApi = {
    getAttributes: async () => {
      const client = { ...attributes };
      return { client, shared: {}, empty: Object.keys(client).length === 0 };
    },
    postAttributes: async (changed: JsonObject) => void Object.assign(attributes, changed),
  };
  const clock = new FakeClock();
  const open = () =>
    new IdentityOwnership({ deviceApi, store, place: 'own', board: identity, clock, log: silentLog, alerts });
  return {
    store,
    alerts,
    clock,
    open,
    ownership: open(),
    moves: { store, board: identity, place: 'own' as const, randomBytes: systemRandomBytes },
  };
}

const signal = new AbortController().signal;

const exported = (record: CredentialsRecord): Promise<string> =>
  sealArchive('identity', jsonOf({ record, exportedAtMs: 5 }), PASSPHRASE, systemRandomBytes);

describe('what waits for delivery', () => {
  const OWN: CredentialsRecord = { ...RECORD, deviceName: 'gateway-NEW', accessToken: 'own-token', board: NEW_BOARD };
  const imported = async (own: CredentialsRecord | undefined, record: CredentialsRecord) => {
    const { store, moves } = await board(NEW_BOARD, {}, own);
    const text = await exported(record);
    const { setsQueueAside } = await unpackIdentity(moves, { text, passphrase: PASSPHRASE, replace: true });
    return [setsQueueAside, store.setsQueueAside];
  };

  it('is set aside where it was measured as another device', async () => {
    expect(await imported(OWN, RECORD)).toEqual([true, true]);
    // A device of the name exists: the platform has refused to make it anew since its token was refused.
    expect(await imported({ ...OWN, phase: 'proposed', previousTokens: ['a-token'] }, RECORD)).toEqual([true, true]);
  });

  it("stays where this board was nobody, or this very device, by whichever of the device's tokens", async () => {
    expect(await imported(undefined, RECORD)).toEqual([false, false]);
    expect(await imported({ ...OWN, phase: 'proposed' }, RECORD)).toEqual([false, false]);
    expect(await imported({ ...OWN, accessToken: 'the-token' }, RECORD)).toEqual([false, false]);
    expect(await imported({ ...OWN, nextToken: 'the-token' }, RECORD)).toEqual([false, false]);
    expect(await imported(OWN, { ...RECORD, previousTokens: ['a', 'own-token'] })).toEqual([false, false]);
  });

  it('is set aside once, whatever else becomes of the identity before', async () => {
    const { store, moves } = await board(NEW_BOARD, {}, OWN);
    const text = await exported(RECORD);
    await unpackIdentity(moves, { text, passphrase: PASSPHRASE, replace: true });
    await unpackIdentity(moves, { text, passphrase: PASSPHRASE, replace: true });
    expect(store.setsQueueAside).toBe(true);
    await store.forget({ setsQueueAside: false });
    expect(store.setsQueueAside).toBe(true);
    await store.queueIsAside();
    expect(store.setsQueueAside).toBe(false);
    await store.forget({ setsQueueAside: true });
    expect(store.setsQueueAside).toBe(true);
  });
});

describe('moving an identity', () => {
  it("puts the new board in the old one's place, and the old one stands back when it returns", async () => {
    const attributes = {};
    const old = await board(OLD_BOARD, attributes, RECORD);
    expect(await old.ownership.check(signal)).toBe('ours');
    const text = await packIdentity(old.moves, PASSPHRASE, 0);

    const fresh = await board(NEW_BOARD, attributes);
    expect(await unpackIdentity(fresh.moves, { text, passphrase: PASSPHRASE, replace: false })).toEqual({
      deviceName: 'gateway-OLD',
      setsQueueAside: false,
    });
    expect(fresh.store.record('own')).toMatchObject({
      accessToken: 'the-token',
      source: 'imported',
      board: NEW_BOARD,
      generation: 2,
    });
    // As the next start does.
    const started = fresh.open();
    expect(await started.check(signal)).toBe('ours');

    expect(await old.ownership.check(signal)).toBe('replaced');
    expect(old.ownership.held).toMatch(/moved to another board/);
    expect(old.alerts.standing.has('identity-moved')).toBe(true);
    expect(old.open().held).toMatch(/moved/);
    expect(await started.check(signal)).toBe('ours');
  });

  it('of one export on two boards leaves one device: the last who was told takes it, the other stands back', async () => {
    const attributes = {};
    const old = await board(OLD_BOARD, attributes, RECORD);
    await old.ownership.check(signal);
    const text = await packIdentity(old.moves, PASSPHRASE, 0);
    const imported = async (identity: typeof OLD_BOARD) => {
      const one = await board(identity, attributes);
      await unpackIdentity(one.moves, { text, passphrase: PASSPHRASE, replace: false });
      return { ...one, ownership: one.open() };
    };
    const first = await imported(NEW_BOARD);
    expect(await first.ownership.check(signal)).toBe('ours');
    const second = await imported({ serial: 'THIRD', hostname: 'h' });
    expect([await second.ownership.check(signal), await first.ownership.check(signal)]).toEqual(['ours', 'replaced']);
    expect([await second.open().check(signal), await first.open().check(signal)]).toEqual(['ours', 'replaced']);
  });

  it('is all of it or nothing: an import that the disk refuses has not happened', async () => {
    const old = await board(OLD_BOARD, {}, RECORD);
    await old.store.saveProvisionSecret({ deviceKey: 'k', deviceSecret: 's' });
    const text = await packIdentity(old.moves, PASSPHRASE, 0);
    const files = new MemoryFiles();
    await files.makeFolder('/state');
    const opened = () =>
      CredentialsStore.open({
        stateFolder: '/state',
        files,
        clock: new FakeClock(),
        log: silentLog,
        alerts: new StandingAlerts(),
        hide: () => {},
      });
    const store = await opened();
    for (let failing = 1; failing < 20; failing += 1) {
      await store.save('own', { ...RECORD, accessToken: 'mine' });
      let writes = 0;
      files.faults = {
        fail: (operation, path) =>
          operation === 'open' && path.endsWith('.json.tmp') && ++writes === failing ? { code: 'ENOSPC' } : undefined,
      };
      const outcome = await unpackIdentity(
        { store, board: NEW_BOARD },
        { text, passphrase: PASSPHRASE, replace: true },
      ).then(
        () => 'done',
        () => 'refused',
      );
      files.faults = {};
      const { accessToken } = (await opened()).record('own') ?? {};
      expect([outcome, accessToken]).toEqual(outcome === 'done' ? ['done', 'the-token'] : ['refused', 'mine']);
      if (writes < failing) return;
    }
    throw new Error('it never ended');
  });

  it('puts itself back when a platform fault or an old board wrote a lower number', async () => {
    const attributes: Record<string, JsonObject[string]> = {};
    const fresh = await board(NEW_BOARD, attributes, { ...RECORD, generation: 2 });
    attributes[OWNER_KEY] = { board: 'someone', generation: 1 };
    expect(await fresh.ownership.check(signal)).toBe('ours');
    expect(attributes[OWNER_KEY]).toMatchObject({ generation: 2 });
  });

  it('stays back when the platform once answers with nothing, at every later check and start', async () => {
    const attributes: Record<string, JsonObject[string]> = { [OWNER_KEY]: { board: 'new', generation: 2 } };
    const old = await board(OLD_BOARD, attributes, RECORD);
    expect(await old.ownership.check(signal)).toBe('replaced');
    const kept = { ...attributes };
    delete attributes[OWNER_KEY];
    expect(await old.ownership.check(signal)).toBe('replaced');
    expect(await old.open().check(signal)).toBe('replaced');
    expect([old.ownership.held !== undefined, attributes[OWNER_KEY]]).toEqual([true, undefined]);
    Object.assign(attributes, kept);
    expect(await old.ownership.check(signal)).toBe('replaced');
  });

  it('waits for a network before anything is sent, and not for ever for a platform that answers something else', async () => {
    const old = await board(OLD_BOARD, {}, RECORD);
    let answer: Error | undefined = new PlatformError('busy', 'no route');
    let asked = 0;
    const deviceApi = {
      getAttributes: async () => {
        asked += 1;
        if (answer !== undefined) throw answer;
        return { client: {}, shared: {}, empty: true };
      },
      postAttributes: async () => {},
    };
    const ownership = (): IdentityOwnership =>
      new IdentityOwnership({
        deviceApi,
        store: old.store,
        place: 'own',
        board: OLD_BOARD,
        clock: old.clock,
        log: silentLog,
        alerts: old.alerts,
      });
    const settled: string[] = [];
    void ownership()
      .settle(signal)
      .then(() => settled.push('network'));
    await old.clock.advance(3_600_000);
    expect(settled).toEqual([]);
    expect(asked).toBeGreaterThan(200);
    answer = undefined;
    await old.clock.advance(30_000);
    expect(settled).toEqual(['network']);
    answer = new PlatformError('refused', 'no', { status: 500 });
    void ownership()
      .settle(signal)
      .then(() => settled.push('refused'));
    await old.clock.advance(630_000);
    expect(settled).toEqual(['network', 'refused']);
    answer = new PlatformError('unauthorised', 'no', { status: 401 });
    void ownership()
      .settle(signal)
      .then(() => settled.push('token'));
    await old.clock.advance(1);
    expect(settled).toEqual(['network', 'refused', 'token']);
  });

  it('tells a copied card from a moved one', async () => {
    const attributes = {};
    const one = await board(OLD_BOARD, attributes, RECORD);
    const copy = await board(NEW_BOARD, attributes, RECORD);
    await one.ownership.check(signal);
    expect(await copy.ownership.check(signal)).toBe('shared');
    expect(copy.alerts.standing.has('identity-on-two-boards')).toBe(true);
    expect(copy.ownership.held).toBeUndefined();
  });

  it('lets the old board be the device again when it is told to, and the new one stands back', async () => {
    const attributes = {};
    const old = await board(OLD_BOARD, attributes, RECORD);
    const fresh = await board(NEW_BOARD, attributes, { ...RECORD, board: NEW_BOARD, generation: 2 });
    await fresh.ownership.check(signal);
    await old.ownership.check(signal);
    await adoptIdentity(old.moves);
    expect(old.store.record('own')).toMatchObject({ generation: 3, board: OLD_BOARD });
    expect(await old.ownership.check(signal)).toBe('ours');
    expect(old.ownership.held).toBeUndefined();
    expect(old.alerts.standing.size).toBe(0);
    expect(await fresh.ownership.check(signal)).toBe('replaced');
  });

  it("does not give up a board's own identity unasked, and no other while the platform refuses to make it anew", async () => {
    const text = await exported(RECORD);
    const own = { ...RECORD, deviceName: 'gateway-NEW', accessToken: 'own' };
    const anew = await board(NEW_BOARD, {}, { ...own, phase: 'proposed', previousTokens: ['refused'] });
    const other = await board(NEW_BOARD, {}, own);
    for (const { moves } of [anew, other])
      await expect(unpackIdentity(moves, { text, passphrase: PASSPHRASE, replace: false })).rejects.toThrow(
        /gateway-NEW/,
      );
    await unpackIdentity(other.moves, { text, passphrase: PASSPHRASE, replace: true });
    expect(other.store.record('own')?.accessToken).toBe('the-token');
  });
});
