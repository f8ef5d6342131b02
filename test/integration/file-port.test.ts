/** The one place where the machine's own syncs are seen: everything else believes the port's word. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { witnessSyncs } from '../support/sync-witness.ts';

const FILES = resolve(import.meta.dirname, '../../src/host/files.ts');
const DURABLE = resolve(import.meta.dirname, '../../src/store/durable-file.ts');

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'turnstone-port-')));
});
afterEach(() => rm(folder, { recursive: true }));

describe("the machine's files", () => {
  it('are synced by the kernel where the port says so', async () => {
    const syncs = await witnessSyncs(
      folder,
      `import { systemFiles } from '${FILES}';
       const path = '${folder}/a';
       const file = await systemFiles.open(path, 'create');
       await file.write(Buffer.from('x'), 0);
       await file.datasync();
       await file.close();
       const synced = await systemFiles.open('${folder}/b', 'create', { synced: true });
       await synced.write(Buffer.from('y'), 0);
       await synced.close();
       await systemFiles.syncFolder('${folder}');
       await systemFiles.makeFolder('${folder}/c/d');`,
    );
    expect(syncs).toEqual([
      `fdatasync ${folder}/a`,
      `synced-write ${folder}/b`,
      `fsync ${folder}`,
      `fsync ${folder}/c`,
      `fsync ${folder}`,
    ]);
  });

  it('that are replaced are synced before the rename, and their folder after it', async () => {
    const syncs = await witnessSyncs(
      folder,
      `import { systemFiles } from '${FILES}';
       import { writeDurably } from '${DURABLE}';
       await writeDurably(systemFiles, '${folder}/state.json', 'x');`,
    );
    expect(syncs).toEqual([`fdatasync ${folder}/state.json.tmp`, `fsync ${folder}`]);
  });
});
