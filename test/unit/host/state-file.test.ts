import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile, type StateFileDeps } from '../../../src/host/state-file.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-state-'));
  path = join(folder, 'state.json');
});
afterEach(() => rm(folder, { recursive: true }));

const file = (more: Partial<StateFileDeps> = {}): StateFile =>
  new StateFile({ path, format: 'turnstone/x', version: 1, log: silentLog, ...more });

describe('a state file', () => {
  it('gives back what was saved last, longs too', async () => {
    const saved = file();
    saved.save({ n: 1 });
    saved.save({ n: 2n ** 60n });
    await saved.flush();
    expect(await file().read()).toEqual({ n: 2n ** 60n });
    expect(await file({ path: join(folder, 'none.json') }).read()).toBeUndefined();
  });

  it('skips states that come faster than the disk, and never the last', async () => {
    const written: string[] = [];
    const gates: (() => void)[] = [];
    const slow = file({
      write: (_path, content) => {
        written.push(content);
        return new Promise((resolve) => gates.push(resolve));
      },
    });
    for (let n = 1; n <= 100; n += 1) slow.save({ n });
    const flushed = slow.flush();
    gates[0]?.();
    await new Promise((resolve) => setImmediate(resolve));
    gates[1]?.();
    await flushed;
    expect(written.map((content) => (JSON.parse(content) as { state: { n: number } }).state.n)).toEqual([1, 100]);
  });

  it('goes on after a write that failed', async () => {
    let faults = 1;
    const written: string[] = [];
    const failing = file({
      write: async (_path, content) => {
        if (faults-- > 0) throw new Error('no space');
        written.push(content);
      },
    });
    failing.save({ n: 1 });
    await failing.flush();
    failing.save({ n: 2 });
    await failing.flush();
    expect(written.length).toBe(1);
  });

  it('that cannot be read is no reason not to start', async () => {
    await mkdir(path);
    expect(await file().read()).toBeUndefined();
  });

  it.each(['', '{"format":"turn', '[]', '{"format":"other","version":1,"state":{}}', '{"format":"turnstone/x","version":2,"state":{}}'])(
    'is set aside, not overwritten, when it holds %j',
    async (content) => {
      await writeFile(path, content);
      const damaged = file();
      expect(await damaged.read()).toBeUndefined();
      damaged.save({ n: 1 });
      await damaged.flush();
      expect((await readdir(folder)).sort()).toEqual(['state.json', 'state.json.corrupt']);
      expect(await readFile(`${path}.corrupt`, 'utf8')).toBe(content);
      expect(await file().read()).toEqual({ n: 1 });
    },
  );
});
