/** The parts that the files of this folder work on; each of them takes the parts that it needs. */
import type { OutboxConfig } from '../../config/schema/agent-config.ts';
import type { OutboxPlace } from '../segments/outbox-place.ts';
import type { ReadingTurns } from '../segments/reading-turns.ts';
import type { SegmentShelf } from '../segments/segment-shelf.ts';
import type { SmallFileDeps } from '../segments/small-file.ts';
import type { BootTimes } from '../times/boot-times.ts';
import type { DeadLetter } from './dead-letter-file.ts';
import type { DeliveryState } from './delivery-state.ts';
import type { SequenceRanges } from './sequence-ranges.ts';

/** All but the last three are shared by all platform devices. */
export interface DeliveryParts extends OutboxPlace, Pick<SmallFileDeps, 'setAside'> {
  readonly reading: ReadingTurns;
  readonly shelf: SegmentShelf;
  readonly boots: BootTimes;
  /** Opened before the segments are read, because reading them corrects it. */
  readonly state: DeliveryState;
  /** The dead-letter queue as it was read, by sequence. */
  readonly letters: Map<number, DeadLetter>;
  /** Entries that wait in quarantine; in memory only. To a lane they are as good as acknowledged. */
  readonly quarantined: SequenceRanges;
  /** With its share of the disk. */
  readonly settings: OutboxConfig;
  /** Time within which an entry is of the present at least, where uploads go together seldom. */
  readonly presentMs?: (() => number) | undefined;
}
