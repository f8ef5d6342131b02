import { beforeEach, describe, expect, it } from 'vitest';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import { readJournal, type UpdateJournal, writeJournal } from '../../../src/firmware/update-journal.ts';
import { silentLog } from '../../../src/host/log.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const PATH = '/state/firmware-update.json';
const update = {
  id: 'one',
  title: 'turnstone',
  version: '2.0.0',
  source: 'platform',
  from: '1.0.0',
  startedAtMs: 5,
  unanswered: 1,
  attempts: 2,
} as const;
const entry = (version: string) =>
  ({ title: 't', version, from: '0', outcome: 'UPDATED', startedAtMs: 1, endedAtMs: 2 }) as const;
const full: UpdateJournal = {
  state: 'trial',
  update,
  confirmedVersion: '1.0.0',
  settledOffer: 'f',
  history: [entry('1.0.0')],
};
let disk: MemoryFiles;
beforeEach(() => {
  disk = new MemoryFiles();
});

const read = () => readJournal(updateFiles(disk), PATH, silentLog);
const written = (changes: object) =>
  disk.put(PATH, JSON.stringify({ format: 'turnstone-firmware-journal', version: 1, ...full, ...changes }));

describe('the journal of an update', () => {
  it('begins empty', async () => {
    expect(await read()).toEqual({ state: 'idle', history: [] });
    expect(disk.paths).toEqual([]);
  });

  it('is read as it was written, also after a power cut, and by nobody else', async () => {
    await writeJournal(updateFiles(disk), PATH, full);
    disk.cutPower(() => false);
    expect(await read()).toEqual(full);
    expect((await disk.facts(PATH))?.mode).toBe(0o600);
  });

  it('need not know an update, a confirmed release or a settled offer', async () => {
    await writeJournal(updateFiles(disk), PATH, { state: 'idle', history: [] });
    expect(await read()).toEqual({ state: 'idle', history: [] });
  });

  it('keeps the latest fifty ends', async () => {
    const history = Array.from({ length: 52 }, (_, at) => entry(`1.0.${at}`));
    await writeJournal(updateFiles(disk), PATH, { state: 'idle', history });
    expect((await read()).history).toEqual(history.slice(0, 50));
  });

  it('leaves out what it does not know, and history that is none', async () => {
    written({ more: 1, confirmedVersion: 7, settledOffer: null, history: ['x', entry('1')] });
    expect(await read()).toEqual({ state: 'trial', update, history: [entry('1')] });
  });

  const unreadable: readonly (readonly [string, string | object])[] = [
    ['is no JSON', '{'],
    ['is of another kind', { format: 'turnstone-outbox' }],
    ['is of another version', { version: 2 }],
    ['has no state', { state: undefined }],
    ['has a state that is none', { state: 'toString' }],
    ['has no history', { history: {} }],
    ['knows a state and not what of', { update: undefined }],
    ['has an update that is none', { update: 'x' }],
    ...Object.keys(update).map(
      (field) => [`has an update without ${field}`, { update: { ...update, [field]: null } }] as const,
    ),
  ];
  it.each(unreadable)('is set aside when it %s', async (_what, changes) => {
    if (typeof changes === 'string') disk.put(PATH, changes);
    else written(changes);
    expect(await read()).toEqual({ state: 'idle', history: [] });
    expect(disk.paths).toEqual([`${PATH}.corrupt`]);
  });

  it('is set aside when it is larger than any, in place of what was set aside before', async () => {
    disk.put(`${PATH}.corrupt`, 'older');
    disk.put(PATH, Buffer.alloc(256 * 1024 + 1, ' '));
    expect(await read()).toEqual({ state: 'idle', history: [] });
    expect(disk.contentOf(`${PATH}.corrupt`)).toHaveLength(256 * 1024 + 1);
  });

  it('stays where it is when the disk does not answer, and nothing is concluded from it', async () => {
    written({});
    disk.faults = { fail: (operation) => (operation === 'read' ? { code: 'EIO' } : undefined) };
    await expect(read()).rejects.toMatchObject({ code: 'host/read-failed', recovery: 'retry' });
    disk.faults = {};
    expect(await read()).toEqual(full);
  });
});
