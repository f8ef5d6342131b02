import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import type { CredentialsRecord } from '../../../src/provisioning/credentials-record.ts';
import { CredentialsStore } from '../../../src/provisioning/credentials-store.ts';
import { openStore, StandingAlerts, stateFolder } from './state-folder.ts';

const RECORD: CredentialsRecord = {
  phase: 'in-use',
  source: 'provisioned',
  deviceName: 'gateway-1',
  accessToken: 'token-one',
  board: { serial: 'SN-1' },
  generation: 1,
};

describe('the credentials store', () => {
  it('gives back what was saved, in files that only the service user reads', async () => {
    const folder = await stateFolder();
    await (await openStore(folder)).save('own', RECORD);
    expect((await openStore(folder)).record('own')).toEqual(RECORD);
    const files = await readdir(folder);
    expect(files.sort()).toEqual(['credentials.backup.json', 'credentials.json']);
    for (const file of files) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
  });

  it('says format and version in the file', async () => {
    const folder = await stateFolder();
    await (await openStore(folder)).save('own', RECORD);
    expect(JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8'))).toMatchObject({
      format: 'turnstone/credentials',
      version: 1,
    });
  });

  it.each(['credentials.json', 'credentials.backup.json'])('survives a spoilt %s, sets it aside and heals', async (file) => {
    const folder = await stateFolder();
    await (await openStore(folder)).save('own', RECORD);
    await writeFile(join(folder, file), '{"format":"turnstone/credentials","version":1,"state":{"own":{"acc');
    const alerts = new StandingAlerts();
    expect((await openStore(folder, alerts)).record('own')).toEqual(RECORD);
    expect(await readFile(join(folder, `${file}.corrupt`), 'utf8')).toContain('"acc');
    expect(alerts.standing.get('credentials-corrupt')).toContain(`${file}.corrupt`);
    expect(await readFile(join(folder, file), 'utf8')).toContain('token-one');
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
    const text = JSON.stringify({ format: 'turnstone/credentials', version: 1, state: { own: { ...RECORD, later: 1 }, more: 2 } });
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

  it.each([0, 1])('keeps the old or the new state when a write is cut short at file %i', async (cut) => {
    const folder = await stateFolder();
    await (await openStore(folder)).save('own', RECORD);
    let writes = 0;
    const torn = await CredentialsStore.open({
      stateFolder: folder,
      log: silentLog,
      alerts: new StandingAlerts(),
      hide: () => {},
      write: async (path, content) => {
        await writeFile(`${path}.tmp`, content.slice(0, 20));
        if (writes++ === cut) throw new Error('killed');
        await writeFile(path, content);
      },
    });
    await expect(torn.save('own', { ...RECORD, accessToken: 'token-two' })).rejects.toThrow('killed');
    expect((await openStore(folder)).record('own')?.accessToken).toBe(cut === 0 ? 'token-one' : 'token-two');
  });

  it('does not go on when a file cannot be read, as what it holds would be overwritten', async () => {
    const folder = await stateFolder();
    await mkdir(join(folder, 'credentials.json'));
    await expect(openStore(folder)).rejects.toMatchObject({ code: 'host/read-failed' });
  });

  it('forgets the device in set-aside files too, and keeps the rotated provisioning secret', async () => {
    const folder = await stateFolder();
    const store = await openStore(folder);
    await store.save('own', RECORD);
    await store.saveProvisionSecret({ deviceKey: 'k', deviceSecret: 's' });
    await writeFile(join(folder, 'credentials.json.corrupt'), 'token-one');
    await store.forget();
    const reopened = await openStore(folder);
    expect(reopened.record('own')).toBeUndefined();
    expect(reopened.provisionSecret).toEqual({ deviceKey: 'k', deviceSecret: 's' });
    for (const file of await readdir(folder)) expect(await readFile(join(folder, file), 'utf8')).not.toContain('token-one');
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
