/** The timeline on a disk that has flipped one bit. */
import { describe, expect, it } from 'vitest';
import { readWhole } from '../../src/host/durable-file.ts';
import { timelineFile } from '../../src/timeline/timeline-file.ts';
import { MemoryFiles } from '../support/memory-files.ts';

describe('the timeline', () => {
  it('passes over one damaged line alone, whichever it is', async () => {
    const files = new MemoryFiles();
    const path = '/state/timeline.jsonl';
    const all = Array.from({ length: 20 }, (_, at) => ({
      seq: at + 1,
      ts: at,
      kind: 'command' as const,
      words: `event ${at + 1}`,
    }));
    const file = timelineFile(files, path);
    await file.read();
    await file.write(all, all);
    const text = (await readWhole(files, path, { limitBytes: 100_000 }))?.toString() ?? '';
    const left: number[] = [];
    for (let line = 0; line < 21; line += 1) {
      files.put(
        path,
        text
          .split('\n')
          .map((one, at) => (at === line ? one.replace('"', "'") : one))
          .join('\n'),
      );
      left.push((await timelineFile(files, path).read()).length);
    }
    expect(Math.min(...left)).toBeGreaterThanOrEqual(19);
  });
});
