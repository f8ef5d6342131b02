/** Tells the platform what runs and where an update stands: at the start, and later each state, once, however often it could not be. */
import { retryable } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { joinedWhileUnderWay } from '../host/shared-work.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';
import type { JsonValue } from '../values/json.ts';
import { prefixOf } from './firmware-offer.ts';
import type { UpdateJournal } from './update-journal.ts';
import { reportedState } from './update-states.ts';
import type { UpdaterDeps } from './updater-deps.ts';

/** A report is waited for until it is on disk, but not for ever: the disk may take nothing. */
const TOLD_WITHIN_MS = 30_000;

export class UpdateTelling {
  readonly #deps: Pick<UpdaterDeps, 'kind' | 'config' | 'release' | 'report' | 'clock'>;
  readonly #journal: () => UpdateJournal;
  #owed: 'start' | 'state' | undefined = 'start';
  readonly #tellOnce = joinedWhileUnderWay(() => this.#tell());

  constructor(deps: UpdaterDeps, journal: () => UpdateJournal) {
    this.#deps = deps;
    this.#journal = journal;
  }

  /** The new state is to be told. */
  stateChanged(): void {
    this.#owed ??= 'state';
  }

  /** @throws what the telling throws, AgentError `firmware/not-told` (retry) when it takes too long, and when the signal aborts. */
  async tell(signal: AbortSignal): Promise<void> {
    const told = this.#tellOnce();
    if (!(await endedWithin(this.#deps.clock, TOLD_WITHIN_MS, told, signal)))
      throw retryable('firmware/not-told', 'the disk does not take what is to be told');
    await told;
  }

  async #tell(): Promise<void> {
    const { kind, config, release, report } = this.#deps;
    // An attached device may have been changed by hand: only what was installed is told of it.
    if (this.#owed === 'start' && kind === 'firmware' && release !== undefined)
      await report({ current_fw_title: config.title, current_fw_version: release.runningVersion });
    if (this.#owed === 'start') this.#owed = 'state';
    const told = this.#journal();
    const values = this.#owed === 'state' ? stateReport(kind, told) : undefined;
    if (values !== undefined) await report(values);
    // The update may have gone on meanwhile.
    if (told.state === this.#journal().state) this.#owed = undefined;
  }
}

/** Undefined for states that are nobody's concern. */
function stateReport(
  kind: UpdaterDeps['kind'],
  { state, update }: UpdateJournal,
): Readonly<Record<string, JsonValue>> | undefined {
  const prefix = prefixOf(kind);
  const reported = reportedState(state);
  if (reported === undefined || update === undefined) return undefined;
  return {
    [`${prefix}_state`]: reported,
    ...(state === 'failed' ? { [`${prefix}_error`]: update.reason ?? 'unknown' } : {}),
    ...(state === 'updated'
      ? { [`current_${prefix}_title`]: update.title, [`current_${prefix}_version`]: update.version }
      : {}),
  };
}

/** Entries of a device, as alarms, which are durable at once: a regular one waits for its block, and each state of an update would wait with it. */
export function updateEntries(
  device: string,
  values: Readonly<Record<string, JsonValue>>,
  clock: Clock,
): TelemetryEntry[] {
  const { bootId } = clock;
  const monotonicMs = clock.monotonicMs();
  return Object.entries(values).map(([key, value]) => ({ device, key, value, bootId, monotonicMs, class: 'alarm' }));
}
