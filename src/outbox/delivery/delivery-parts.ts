/** What the files of this folder work on; each of them takes the parts that it needs. */
import type { Clock } from '../../host/clock.ts';
import type { Files } from '../../host/files.ts';
import type { Log } from '../../host/log.ts';
import type { ReadingTurns } from '../segments/reading-turns.ts';
import type { SegmentShelf } from '../segments/segment-shelf.ts';
import type { BootTimes } from '../times/boot-times.ts';
import type { DeliveryState } from './delivery-state.ts';
import type { OutboxSettings } from './outbox-settings.ts';
import type { SequenceRanges } from './sequence-ranges.ts';

/** Shared by all platform devices. */
export interface SharedParts {
  readonly files: Files;
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly reading: ReadingTurns;
  readonly shelf: SegmentShelf;
  readonly boots: BootTimes;
  /** Keeps a damaged file for a person to look at. */
  readonly setAside: (name: string) => Promise<void>;
}

/** With what one device has of its own. */
export interface DeliveryParts extends SharedParts, Pick<OutboxSettings, 'order' | 'commitAgeMs'> {
  /** Opened before the segments are read, because reading them corrects it. */
  readonly state: DeliveryState;
  /** Of the state. */
  readonly acknowledged: SequenceRanges;
  /** Entries that wait aside; in memory only. To a lane they are as good as acknowledged. */
  readonly aside: SequenceRanges;
  /** With its share of the disk. */
  readonly settings: OutboxSettings;
}
