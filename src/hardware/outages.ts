/**
 * Outages of what is asked over a line, by unit: what was silent for a while, and answers again, may have been without power, and holds what it
 * starts with. One missing answer of a noisy line is no outage, nor is a connection that is closed while nobody speaks and made again.
 */
import type { Clock } from '../host/clock.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import { Listeners } from '../values/listeners.ts';
import type { SerialPort } from './serial-port.ts';

/** Shortest silence that counts as an outage: the quickest units need some seconds to start. */
const OUTAGE_MS = 3_000;

/** Unit, or the line itself with all of them. */
type Place = number | 'line';

export class Outages {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** First and last attempt without an answer, since the last answer. */
  readonly #silences = new Map<Place, { readonly fromMs: number; readonly toMs: number }>();
  readonly #listeners = new Map<number, Listeners<[]>>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Calls back, until the returned function is called, when the unit answers after an outage. */
  onReturn(unitId: number, listener: () => void): () => void {
    return getOrInsert(this.#listeners, unitId, () => new Listeners<[]>()).add(listener);
  }

  silent(place: Place): void {
    const nowMs = this.#clock.monotonicMs();
    this.#silences.set(place, { fromMs: this.#silences.get(place)?.fromMs ?? nowMs, toMs: nowMs });
  }

  answered(unitId: number): void {
    const isLineBack = this.#ends('line');
    const isBack = this.#ends(unitId);
    for (const [unit, listeners] of this.#listeners) if (isLineBack || (isBack && unit === unitId)) listeners.tell();
  }

  #ends(place: Place): boolean {
    const { fromMs, toMs } = this.#silences.get(place) ?? { fromMs: 0, toMs: 0 };
    this.#silences.delete(place);
    return toMs - fromMs >= OUTAGE_MS;
  }
}

/** Errors of a connection whose other end has started anew, or was not there. */
const BROKEN = /ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/;

/** Calls back, until the returned function is called, when a device server is back that was away for some seconds, or has forgotten its connection. */
export function onNetworkReturn(
  port: Pick<SerialPort, 'onPlug'>,
  clock: Pick<Clock, 'monotonicMs'>,
  listener: () => void,
): () => void {
  let lost: { readonly atMs: number; readonly isBroken: boolean } | undefined;
  return port.onPlug((plugged, reason) => {
    if (!plugged) lost ??= { atMs: clock.monotonicMs(), isBroken: BROKEN.test(reason) };
    else {
      const isOutage = lost !== undefined && (lost.isBroken || clock.monotonicMs() - lost.atMs >= OUTAGE_MS);
      lost = undefined;
      if (isOutage) listener();
    }
  });
}
