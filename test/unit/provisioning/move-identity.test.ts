import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/host/json.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { CredentialsRecord } from '../../../src/provisioning/credentials-record.ts';
import { exportIdentity, importIdentity } from '../../../src/provisioning/identity-archive.ts';
import { adoptIdentity, packIdentity, unpackIdentity } from '../../../src/provisioning/move-identity.ts';
import { IdentityOwnership, OWNER_KEY } from '../../../src/provisioning/ownership.ts';
import { FakeClock } from '../../support/fake-clock.ts';
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
async function board(identity: typeof OLD_BOARD, attributes: Record<string, JsonObject[string]>, record?: CredentialsRecord) {
  const folder = await stateFolder();
  const store = await openStore(folder);
  if (record !== undefined) await store.save('own', record);
  const alerts = new StandingAlerts();
  const deviceApi = {
    getAttributes: async () => ({ client: { ...attributes }, shared: {}, empty: Object.keys(attributes).length === 0 }),
    postAttributes: async (changed: JsonObject) => void Object.assign(attributes, changed),
  };
  const open = () =>
    new IdentityOwnership({ deviceApi, store, place: 'own', board: identity, clock: new FakeClock(), log: silentLog, alerts });
  return { store, alerts, open, ownership: open(), moves: { store, board: identity, place: 'own' as const } };
}

const signal = new AbortController().signal;

describe('an exported identity', () => {
  it('opens with its passphrase, and shows nothing without', async () => {
    const text = await exportIdentity({ record: RECORD, exportedAtMs: 5 }, PASSPHRASE);
    expect(text).not.toMatch(/the-token|gateway-OLD/);
    expect(JSON.parse(text)).toMatchObject({ format: 'turnstone/identity', version: 1 });
    expect(await importIdentity(text, PASSPHRASE)).toEqual({ record: RECORD, exportedAtMs: 5 });
  });

  it('does not open with another passphrase, nor after any change', async () => {
    const text = await exportIdentity({ record: RECORD, exportedAtMs: 5 }, PASSPHRASE);
    const archive = JSON.parse(text);
    const changed = (change: object) => JSON.stringify({ ...archive, ...change });
    const flipped = Buffer.from(archive.content, 'base64');
    flipped[3] = (flipped[3] ?? 0) ^ 1;
    await expect(importIdentity(text, 'another passphrase')).rejects.toMatchObject({ code: 'provisioning/wrong-passphrase' });
    await expect(importIdentity(changed({ content: flipped.toString('base64') }), PASSPHRASE)).rejects.toMatchObject({
      code: 'provisioning/wrong-passphrase',
    });
    await expect(importIdentity(changed({ scrypt: { N: 2 ** 14, r: 8, p: 1 } }), PASSPHRASE)).rejects.toMatchObject({
      code: 'provisioning/wrong-passphrase',
    });
    await expect(importIdentity(changed({ tag: archive.tag.slice(0, 8) }), PASSPHRASE)).rejects.toMatchObject({
      code: 'provisioning/wrong-passphrase',
    });
  });

  it.each([
    ['', /not whole/],
    ['[]', /no identity file/],
    ['{"format":"turnstone/identity","version":9}', /later release/],
    [
      JSON.stringify({
        format: 'turnstone/identity',
        version: 1,
        scrypt: { N: 2 ** 20, r: 32, p: 1 },
        salt: 'AA==',
        iv: 'AA==',
        tag: 'AA==',
        content: 'AA==',
      }),
      /memory/,
    ],
  ])('refuses %j in words', async (text, words) => {
    await expect(importIdentity(text, PASSPHRASE)).rejects.toThrow(words);
  });

  it('needs a passphrase worth the name', async () => {
    await expect(exportIdentity({ record: RECORD, exportedAtMs: 5 }, 'short')).rejects.toMatchObject({
      code: 'provisioning/weak-passphrase',
    });
  });
});

describe('moving an identity', () => {
  it("puts the new board in the old one's place, and the old one stands back when it returns", async () => {
    const attributes = {};
    const old = await board(OLD_BOARD, attributes, RECORD);
    expect(await old.ownership.check(signal)).toBe('ours');
    const text = await packIdentity(old.moves, PASSPHRASE, 0);

    const fresh = await board(NEW_BOARD, attributes);
    expect(await unpackIdentity(fresh.moves, { text, passphrase: PASSPHRASE, replace: false })).toEqual({ deviceName: 'gateway-OLD' });
    expect(fresh.store.record('own')).toMatchObject({ accessToken: 'the-token', source: 'imported', board: NEW_BOARD, generation: 2 });
    expect(await fresh.ownership.check(signal)).toBe('ours');

    expect(await old.ownership.check(signal)).toBe('replaced');
    expect(old.ownership.held).toMatch(/moved to another board/);
    expect(old.alerts.standing.has('identity-moved')).toBe(true);
    expect(old.open().held).toMatch(/moved/);
    expect(await fresh.ownership.check(signal)).toBe('ours');
  });

  it('puts itself back when a platform fault or an old board wrote a lower number', async () => {
    const attributes: Record<string, JsonObject[string]> = {};
    const fresh = await board(NEW_BOARD, attributes, { ...RECORD, generation: 2 });
    attributes[OWNER_KEY] = { board: 'someone', generation: 1 };
    expect(await fresh.ownership.check(signal)).toBe('ours');
    expect(attributes[OWNER_KEY]).toMatchObject({ generation: 2 });
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

  it("does not give up a board's own identity unasked", async () => {
    const text = await exportIdentity({ record: RECORD, exportedAtMs: 0 }, PASSPHRASE);
    const other = await board(NEW_BOARD, {}, { ...RECORD, deviceName: 'gateway-NEW', accessToken: 'own' });
    await expect(unpackIdentity(other.moves, { text, passphrase: PASSPHRASE, replace: false })).rejects.toThrow(/gateway-NEW/);
    await unpackIdentity(other.moves, { text, passphrase: PASSPHRASE, replace: true });
    expect(other.store.record('own')?.accessToken).toBe('the-token');
  });
});
