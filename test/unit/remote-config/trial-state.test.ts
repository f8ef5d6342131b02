import { beforeEach, describe, expect, it } from 'vitest';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import {
  type ConfigurationTrial,
  readConfigurationResult,
  readConfigurationTrial,
  trialPaths,
} from '../../../src/remote-config/trial-state.ts';
import { keyValueLines } from '../../../src/store/key-value-lines.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const paths = trialPaths('/var/lib/turnstone-guard');
const TRIAL: ConfigurationTrial = {
  id: 'one',
  hash: 'a'.repeat(64),
  before: 'b'.repeat(64),
  trialS: 300,
  needs: 'reload',
  origin: 'patch',
  number: '0007',
  bootId: 'boot-1',
  beganAtMs: 12_345,
};
let disk: MemoryFiles;
let files: ReturnType<typeof updateFiles>;
beforeEach(() => {
  disk = new MemoryFiles();
  files = updateFiles(disk);
});

describe('the files of a trial', () => {
  it('give a trial that is whole, and otherwise none', async () => {
    expect(await readConfigurationTrial(files, paths)).toBeUndefined();
    disk.put('/var/lib/turnstone-guard/configuration/state', keyValueLines(TRIAL));
    expect(await readConfigurationTrial(files, paths)).toEqual(TRIAL);
    for (const gone of ['id', 'hash', 'before', 'trialS', 'number', 'bootId', 'beganAtMs'] as const) {
      disk.put(paths.state, keyValueLines(Object.assign({}, TRIAL, { [gone]: undefined })));
      expect(await readConfigurationTrial(files, paths), gone).toBeUndefined();
    }
  });

  it('give a result with what it says', async () => {
    expect(await readConfigurationResult(files, paths)).toBeUndefined();
    const result = { id: 'one', outcome: 'returned', hash: 'a', reason: 'a=b', atMs: 1 } as const;
    disk.put('/var/lib/turnstone-guard/configuration/result', keyValueLines(result));
    expect(await readConfigurationResult(files, paths)).toEqual(result);
    for (const text of ['', 'id=one\n', 'id=one\noutcome=eaten\n', 'outcome=kept\n']) {
      disk.put(paths.result, text);
      expect(await readConfigurationResult(files, paths), text).toBeUndefined();
    }
  });
});
