/** Where an outbox lies, and what all of its parts work with. */
import type { Clock } from '../../host/clock.ts';
import type { Files } from '../../host/files.ts';
import type { Log } from '../../host/log.ts';

export interface OutboxPlace {
  /** The outbox's own folder. */
  readonly folder: string;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
}
