import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CREDENTIALS_FILES } from '../../../src/devices/credentials-files.ts';
import type { CredentialsRecord } from '../../../src/devices/credentials-record.ts';
import { CredentialsStore } from '../../../src/devices/credentials-store.ts';
import { silentLog } from '../../../src/host/log.ts';
import { isSealed, sealJson } from '../../../src/store/sealed-json.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { everyDamage } from '../../support/one-bit.ts';
import { openStore, StandingAlerts, stateFolder } from './state-folder.ts';

const RECORD: CredentialsRecord = {
  phase: 'in-use',
  source: 'provisioned',
  deviceName: 'gateway-1',
  accessToken: 'token-one',
  board: { serial: 'SN-1' },
  generation: 1,
};

const STATE = '/state';

async function memoryStore() {
  const files = new MemoryFiles();
  await files.makeFolder(STATE);
  const alerts = new StandingAlerts();
  const clock = new FakeClock();
  const store = await reopened(files, alerts, clock);
  await store.save('own', RECORD);
  return { files, alerts, store, clock };
}

function reopened(files: MemoryFiles, alerts: StandingAlerts, clock = new FakeClock()): Promise<CredentialsStore> {
  return CredentialsStore.open({ stateFolder: STATE, files, clock, log: silentLog, alerts, hide: () => {} });
}

describe('the credentials store', () => {
  it('gives back what was saved, in files that only the service user reads', async () => {
    const folder = await stateFolder();
    await (await openStore(folder)).save('own', RECORD);
    expect((await openStore(folder)).record('own')).toEqual(RECORD);
    const files = await readdir(folder);
    expect(files.sort()).toEqual(['credentials.backup.json', 'credentials.json']);
    for (const file of files) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
  });

  it('writes nothing that it could not read again', async () => {
    const { files, alerts, store } = await memoryStore();
    const refused = { code: 'provisioning/unreadable', recovery: 'drop' };
    await expect(store.saveProvisionSecret({ deviceKey: 'k', deviceSecret: 's'.repeat(256) })).rejects.toMatchObject(
      refused,
    );
    await expect(store.save('own', { ...RECORD, accessToken: 't'.repeat(256) })).rejects.toMatchObject(refused);
    await expect(store.save('own', { ...RECORD, deviceName: 'n'.repeat(1024 * 1024) })).rejects.toMatchObject(refused);
    expect([store.record('own'), store.provisionSecret]).toEqual([RECORD, undefined]);
    expect((await reopened(files, alerts)).record('own')).toEqual(RECORD);
  });

  it('takes what a disk says late for no newer than what was saved since', async () => {
    const { files, alerts } = await memoryStore();
    const answers = Promise.withResolvers<void>();
    files.faults = { delay: (operation) => (operation === 'read' ? answers.promise : undefined) };
    const store = new CredentialsStore({
      stateFolder: STATE,
      files,
      clock: new FakeClock(),
      log: silentLog,
      alerts,
      hide: () => {},
    });
    const [first, second] = [store.read(), store.save('own', { ...RECORD, accessToken: 'token-two' })];
    answers.resolve();
    await Promise.all([first, second]);
    files.faults = {};
    expect(store.record('own')?.accessToken).toBe('token-two');
    expect((await reopened(files, alerts)).record('own')?.accessToken).toBe('token-two');
  });

  it('says where a file that is none lies when the disk lets it not be set aside', async () => {
    const { files, alerts } = await memoryStore();
    files.put(`${STATE}/credentials.json`, '{"acc');
    files.faults = { fail: (operation) => (operation === 'rename' ? { code: 'EROFS' } : undefined) };
    expect((await reopened(files, alerts)).record('own')?.accessToken).toBe('token-one');
    expect(alerts.standing.get('credentials-corrupt')).toContain(`it is left as ${STATE}/credentials.json`);
  });

  it('says format and version in the file', async () => {
    const folder = await stateFolder();
    await (await openStore(folder)).save('own', RECORD);
    expect(JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8'))).toMatchObject({
      format: 'turnstone/credentials',
      version: 1,
    });
  });

  it.each(['credentials.json', 'credentials.backup.json'])(
    'survives a spoilt %s, sets it aside and heals',
    async (file) => {
      const folder = await stateFolder();
      await (await openStore(folder)).save('own', RECORD);
      await writeFile(join(folder, file), '{"format":"turnstone/credentials","version":1,"state":{"own":{"acc');
      const alerts = new StandingAlerts();
      expect((await openStore(folder, alerts)).record('own')).toEqual(RECORD);
      expect(await readFile(join(folder, `${file}.corrupt`), 'utf8')).toContain('"acc');
      expect(alerts.standing.get('credentials-corrupt')).toContain(`${file}.corrupt`);
      expect(await readFile(join(folder, file), 'utf8')).toContain('token-one');
    },
  );

  describe('of which one does not say the same as its twin', () => {
    const [FIRST, TWIN] = CREDENTIALS_FILES.map((file) => `${STATE}/${file}`) as [string, string];
    const unsealed = (record: object, version = 1): string =>
      JSON.stringify({ format: 'turnstone/credentials', version, state: { own: record } });

    it.each(CREDENTIALS_FILES)(
      'keeps the identity whatever bit of %s is wrong, and writes none of it over the other',
      async (file) => {
        const { files } = await memoryStore();
        const whole = files.contentOf(FIRST).toString();
        for (const damaged of everyDamage(whole)) {
          files.put(`${STATE}/${file}`, damaged);
          const store = await reopened(files, new StandingAlerts());
          expect(store.record('own')?.accessToken).toBe('token-one');
          for (const path of [FIRST, TWIN])
            expect(JSON.parse(files.contentOf(path).toString()).state.own).toMatchObject(RECORD);
          files.put(FIRST, whole);
          files.put(TWIN, whole);
        }
      },
    );

    it('tells what was damaged, and keeps it aside', async () => {
      const { files, alerts } = await memoryStore();
      files.put(FIRST, files.contentOf(FIRST).toString().replace('token-one', 'token-ome'));
      await reopened(files, alerts);
      expect(alerts.standing.get('credentials-corrupt')).toMatch(
        /credentials\.json was damaged, or changed by hand; .*set aside/,
      );
      expect(files.contentOf(`${FIRST}.corrupt`).toString()).toContain('token-ome');
    });

    it('keeps what stood in the way once, and not what is written after it', async () => {
      const { files, alerts } = await memoryStore();
      const damaged = files.contentOf(FIRST).toString().replace('token-one', 'token-ome');
      files.put(FIRST, damaged);
      const store = await reopened(files, alerts);
      await store.save('own', { ...RECORD, accessToken: 'token-two' });
      expect(files.contentOf(`${FIRST}.corrupt`).toString()).toBe(damaged);
      expect(files.contentOf(FIRST).toString()).toContain('token-two');
    });

    it('believes the first, where it is as it was written, and an older twin is none', async () => {
      const { files, alerts } = await memoryStore();
      files.put(TWIN, unsealed({ ...RECORD, accessToken: 'older' }));
      expect((await reopened(files, alerts)).record('own')).toEqual(RECORD);
      expect([alerts.standing.size, files.contentOf(TWIN)]).toEqual([0, files.contentOf(FIRST)]);
    });

    it('believes what both say, or the only one, and writes it so that damage can be told', async () => {
      for (const lost of [[], [TWIN]]) {
        const { files, alerts } = await memoryStore();
        const edited = files.contentOf(FIRST).toString().replace('token-one', 'by-hand');
        for (const path of [FIRST, TWIN]) files.put(path, edited);
        for (const path of lost) files.remove(path);
        expect((await reopened(files, alerts)).record('own')?.accessToken).toBe('by-hand');
        expect(alerts.standing.size).toBe(0);
        for (const path of [FIRST, TWIN]) expect(isSealed(files.contentOf(path).toString())).toBe(true);
      }
      const { files, alerts } = await memoryStore();
      for (const path of [FIRST, TWIN]) files.put(path, unsealed(RECORD));
      await reopened(files, alerts);
      expect([alerts.standing.size, isSealed(files.contentOf(FIRST).toString())]).toEqual([0, true]);
    });

    it('is of a later release only where nothing better says otherwise', async () => {
      const { files, alerts, store } = await memoryStore();
      const whole = files.contentOf(FIRST).toString();
      const newer = { code: 'provisioning/newer-format' };
      files.put(FIRST, whole.replace('"version":1', '"version":3'));
      expect((await reopened(files, alerts)).record('own')).toEqual(RECORD);
      expect(files.contentOf(`${FIRST}.corrupt`).toString()).toContain('"version":3');
      files.put(TWIN, unsealed(RECORD, 3));
      expect((await reopened(files, alerts)).record('own')).toEqual(RECORD);
      expect(files.contentOf(`${TWIN}.corrupt`).toString()).toContain('"version":3');
      files.put(FIRST, sealJson({ format: 'turnstone/credentials', version: 3, state: {} }));
      await expect(reopened(files, alerts)).rejects.toMatchObject(newer);
      for (const path of [FIRST, TWIN]) files.put(path, whole.replace('"version":1', '"version":3'));
      await expect(reopened(files, alerts)).rejects.toMatchObject(newer);
      files.remove(FIRST);
      await expect(reopened(files, alerts)).rejects.toMatchObject(newer);
      expect(store.record('own')).toEqual(RECORD);
    });
  });

  it('sets both aside when both are spoilt, overwrites neither, and shows nothing of them', async () => {
    const folder = await stateFolder();
    for (const file of ['credentials.json', 'credentials.backup.json'])
      await writeFile(
        join(folder, file),
        JSON.stringify({ format: 'turnstone/credentials', version: 1, state: { own: { accessToken: 'tell-nobody' } } }),
      );
    const alerts = new StandingAlerts();
    const store = await openStore(folder, alerts);
    expect(store.record('own')).toBeUndefined();
    await store.save('own', RECORD);
    for (const file of ['credentials.json.corrupt', 'credentials.backup.json.corrupt'])
      expect(await readFile(join(folder, file), 'utf8')).toContain('tell-nobody');
    expect(JSON.stringify([...alerts.standing])).not.toContain('tell-nobody');
  });

  it('leaves files of a later release alone', async () => {
    const folder = await stateFolder();
    const later = JSON.stringify({ format: 'turnstone/credentials', version: 2, state: {} });
    await writeFile(join(folder, 'credentials.json'), later);
    await expect(openStore(folder)).rejects.toMatchObject({ code: 'provisioning/newer-format', recovery: 'stop' });
    expect(await readFile(join(folder, 'credentials.json'), 'utf8')).toBe(later);
  });

  it('keeps fields that a later release of this version added', async () => {
    const folder = await stateFolder();
    const text = JSON.stringify({
      format: 'turnstone/credentials',
      version: 1,
      state: { own: { ...RECORD, later: 1 }, more: 2 },
    });
    await writeFile(join(folder, 'credentials.json'), text);
    const store = await openStore(folder);
    await store.saveProvisionSecret({ deviceKey: 'k', deviceSecret: 's' });
    const kept = JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8'));
    expect(kept.state).toMatchObject({ own: { later: 1 }, more: 2 });
  });

  it('closes permissions that let others read', async () => {
    const folder = await stateFolder();
    await (await openStore(folder)).save('own', RECORD);
    await chmod(join(folder, 'credentials.json'), 0o644);
    await openStore(folder);
    expect((await stat(join(folder, 'credentials.json'))).mode & 0o777).toBe(0o600);
  });

  it('tells every secret it reads to whoever hides them', async () => {
    const folder = await stateFolder();
    const store = await openStore(folder);
    await store.save('own', { ...RECORD, nextToken: 'token-two', previousTokens: ['token-zero'] });
    await store.saveProvisionSecret({ deviceKey: 'the-key', deviceSecret: 'the-secret' });
    const hidden: string[] = [];
    await openStore(folder, new StandingAlerts(), hidden);
    expect(hidden).toEqual(expect.arrayContaining(['token-one', 'token-two', 'token-zero', 'the-key', 'the-secret']));
  });

  it('keeps the old state when the first file cannot be written, and says so', async () => {
    const { files, alerts, store } = await memoryStore();
    files.faults = {
      fail: (operation, path) =>
        operation === 'rename' && path === `${STATE}/credentials.json.tmp` ? { code: 'EIO' } : undefined,
    };
    await expect(store.save('own', { ...RECORD, accessToken: 'token-two' })).rejects.toMatchObject({
      code: 'host/write-failed',
    });
    expect(store.record('own')?.accessToken).toBe('token-one');
    files.faults = {};
    expect((await reopened(files, alerts)).record('own')?.accessToken).toBe('token-one');
  });

  it('knows what the next start will read when only the twin cannot be written, and writes it when the disk lets it', async () => {
    const { files, alerts, store, clock } = await memoryStore();
    const stop = new AbortController();
    const keeping = store.keepWhole(stop.signal);
    files.faults = {
      fail: (operation, path) =>
        operation === 'open' && path === `${STATE}/credentials.backup.json.tmp` ? { code: 'ENOSPC' } : undefined,
    };
    await store.save('own', { ...RECORD, accessToken: 'token-two' });
    expect(store.record('own')?.accessToken).toBe('token-two');
    expect(alerts.standing.get('credentials-not-kept')).toMatch(/ENOSPC/);
    await clock.advance(60_000);
    expect(alerts.standing.size).toBe(1);
    files.faults = {};
    await clock.advance(60_000);
    expect(alerts.standing.size).toBe(0);
    expect(files.contentOf(`${STATE}/credentials.backup.json`)).toEqual(files.contentOf(`${STATE}/credentials.json`));
    stop.abort();
    await keeping;
  });

  it.each(['ENOSPC', 'EROFS'])('are read although a lost twin cannot be written (%s)', async (code) => {
    const { files, alerts } = await memoryStore();
    await files.unlink(`${STATE}/credentials.backup.json`);
    files.faults = {
      fail: (operation, path) => (operation === 'open' && path.endsWith('.tmp') ? { code } : undefined),
    };
    const store = await reopened(files, alerts);
    expect(store.record('own')?.accessToken).toBe('token-one');
    expect(alerts.standing.get('credentials-not-kept')).toContain(code);
  });

  describe.each(CREDENTIALS_FILES)('of which %s is gone with its sector', (lost) => {
    it.each(['EIO', 'EUCLEAN', 'EBADMSG'])(
      'are read from the other at once, and written in its place (%s)',
      async (code) => {
        const { files, alerts } = await memoryStore();
        const path = `${STATE}/${lost}`;
        files.faults = { fail: (operation, file) => (operation === 'read' && file === path ? { code } : undefined) };
        expect((await reopened(files, alerts)).record('own')?.accessToken).toBe('token-one');
        expect(alerts.standing.get('credentials-corrupt')).toContain(`${path}.corrupt`);
        expect(files.contentOf(path).toString()).toContain('token-one');
      },
    );

    it('are none, and none are made anew, where there is no other', async () => {
      const { files, alerts } = await memoryStore();
      for (const file of CREDENTIALS_FILES) if (file !== lost) files.remove(`${STATE}/${file}`);
      files.faults = { fail: (operation) => (operation === 'read' ? { code: 'EIO' } : undefined) };
      await expect(reopened(files, alerts)).rejects.toMatchObject({ code: 'host/read-failed', recovery: 'retry' });
      files.faults = {};
      expect((await reopened(files, alerts)).record('own')?.accessToken).toBe('token-one');
    });
  });

  it.each(['EMFILE', 'EACCES', 'EIO'])(
    'are neither guessed nor written over while they cannot be read (%s), and read when they can',
    async (code) => {
      const { files, alerts } = await memoryStore();
      const before = files.contentOf(`${STATE}/credentials.json`);
      const fails = code === 'EIO' ? 'read' : 'open';
      files.faults = {
        fail: (operation, path) => (operation === fails && path.endsWith('.json') ? { code } : undefined),
      };
      const store = new CredentialsStore({
        stateFolder: STATE,
        files,
        clock: new FakeClock(),
        log: silentLog,
        alerts,
        hide: () => {},
      });
      await expect(store.read()).rejects.toMatchObject({ code: 'host/read-failed' });
      await expect(store.save('own', { ...RECORD, accessToken: 'token-two' })).rejects.toMatchObject({
        code: 'host/read-failed',
      });
      files.faults = {};
      expect(files.contentOf(`${STATE}/credentials.json`)).toEqual(before);
      await store.read();
      expect(store.record('own')?.accessToken).toBe('token-one');
    },
  );

  it('that were adopted are used at once, and written when the disk takes them', async () => {
    const { files, alerts, store, clock } = await memoryStore();
    const stop = new AbortController();
    const keeping = store.keepWhole(stop.signal);
    files.faults = { fail: (operation) => (operation === 'write' ? { code: 'EROFS' } : undefined) };
    await store.adopt('configured', () => ({ ...RECORD, accessToken: 'configured' }));
    expect(store.record('configured')?.accessToken).toBe('configured');
    expect(alerts.standing.has('credentials-not-kept')).toBe(true);
    files.faults = {};
    await clock.advance(60_000);
    expect((await reopened(files, alerts)).record('configured')?.accessToken).toBe('configured');
    expect(alerts.standing.size).toBe(0);
    stop.abort();
    await keeping;
  });

  it('are read from the twin where a folder or something too large lies in place of the first, which is set aside', async () => {
    const folder = await stateFolder();
    const first = join(folder, 'credentials.json');
    for (const spoil of [() => mkdir(first), () => writeFile(first, Buffer.alloc(1024 * 1024 + 1))]) {
      await (await openStore(folder)).save('own', RECORD);
      await rm(first);
      await spoil();
      await rm(`${first}.corrupt`, { recursive: true, force: true });
      const alerts = new StandingAlerts();
      expect((await openStore(folder, alerts)).record('own')).toEqual(RECORD);
      expect(alerts.standing.get('credentials-corrupt')).toContain('credentials.json.corrupt');
      expect(await readFile(first, 'utf8')).toContain('token-one');
    }
  });

  it('are not read from the twin, which may be the older of the two, while the first can only not be read now', async () => {
    const { files, alerts, store } = await memoryStore();
    files.faults = {
      fail: (operation, path) => (operation === 'open' && path.includes('.backup') ? { code: 'ENOSPC' } : undefined),
    };
    await store.save('own', { ...RECORD, accessToken: 'token-two' });
    files.faults = {
      fail: (operation, path) =>
        operation === 'open' && path === `${STATE}/credentials.json` ? { code: 'ENFILE' } : undefined,
    };
    await expect(reopened(files, alerts)).rejects.toMatchObject({ code: 'host/read-failed', recovery: 'retry' });
    files.faults = {};
    expect((await reopened(files, alerts)).record('own')?.accessToken).toBe('token-two');
  });

  it('are changed beside a write that is under way, and both stay', async () => {
    const { files, alerts, store } = await memoryStore();
    const slow = Promise.withResolvers<void>();
    files.faults = { delay: (operation) => (operation === 'write' ? slow.promise : undefined) };
    const saving = store.saveProvisionSecret({ deviceKey: 'k', deviceSecret: 's' });
    const adopting = store.adopt('configured', () => ({ ...RECORD, accessToken: 'configured' }));
    slow.resolve();
    await Promise.all([saving, adopting]);
    for (const one of [store, await reopened(files, alerts)])
      expect([one.record('configured')?.accessToken, one.provisionSecret?.deviceKey]).toEqual(['configured', 'k']);
  });

  it('forgets the device in set-aside files too, and keeps the rotated provisioning secret', async () => {
    const folder = await stateFolder();
    const store = await openStore(folder);
    await store.save('own', RECORD);
    await store.saveProvisionSecret({ deviceKey: 'k', deviceSecret: 's' });
    await writeFile(join(folder, 'credentials.json.corrupt'), 'token-one');
    await store.forget({ setsQueueAside: false });
    const reopened = await openStore(folder);
    expect(reopened.record('own')).toBeUndefined();
    expect(reopened.provisionSecret).toEqual({ deviceKey: 'k', deviceSecret: 's' });
    for (const file of await readdir(folder))
      expect(await readFile(join(folder, file), 'utf8')).not.toContain('token-one');
  });

  it('lets two who change it at once both have their way', async () => {
    const folder = await stateFolder();
    const store = await openStore(folder);
    await store.save('own', RECORD);
    await Promise.all([
      store.update('own', (record) => ({ ...record, nextToken: 'token-two' })),
      store.update('own', (record) => ({ ...record, replacedBy: 2 })),
      store.saveProvisionSecret({ deviceKey: 'k', deviceSecret: 's' }),
    ]);
    const reopened = await openStore(folder);
    expect(reopened.record('own')).toMatchObject({ nextToken: 'token-two', replacedBy: 2 });
    expect(reopened.provisionSecret).toBeDefined();
  });
});
