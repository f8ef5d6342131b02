/**
 * Work that test/bench/board.ts counts: so many entries through the outbox on the disk, out of it into the bodies of uploads, and acknowledged.
 * Its one argument is their number.
 */
import { systemClock } from '../../../src/host/clock.ts';
import { TelemetryJson } from '../../../src/platform/telemetry-json.ts';
import { Corpus } from '../corpus.ts';
import { inFolder, nextBatch, openBenchOutbox } from '../outbox-bench/bench-outbox.ts';

/** Ten keys a second for the default commit age: what a block has in the field. */
const COMMIT_ENTRIES = 50;
const BATCH = { maxEntries: 2_000, maxBytes: 256_000 };

await inFolder(async (folder) => {
  const outbox = await openBenchOutbox(folder, { commitEntries: COMMIT_ENTRIES });
  const corpus = new Corpus(systemClock.bootId);
  const json = new TelemetryJson();
  for (let entries = 0; entries < Number(process.argv[2]); entries += COMMIT_ENTRIES) {
    await outbox.append(corpus.entries(COMMIT_ENTRIES));
    for (let batch = await nextBatch(outbox, BATCH); batch !== undefined; batch = await nextBatch(outbox, BATCH)) {
      json.encode(batch.entries);
      await outbox.acknowledge(batch);
    }
  }
  await outbox.close();
});
