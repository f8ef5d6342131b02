/** Readings of a running agent with their last values, from look to look. */
import type { AgentStatus, SensorStatus } from '../status/shape/agent-status.ts';

/** As many as a sparkline has room for. */
const HISTORY = 32;

type Reading = SensorStatus['readings'][number];

export interface Watched extends Reading {
  readonly sensor: string;
  /** Its label, else its name. */
  readonly called: string;
  readonly device: string | undefined;
  readonly state: SensorStatus['state'];
  readonly history: readonly number[];
}

/** Returns the readings of a status by sensor and key. @param before those of the look before. */
export function watchedOf(
  { sensors }: AgentStatus,
  before: ReadonlyMap<string, Watched>,
): ReadonlyMap<string, Watched> {
  const readings = sensors.flatMap(({ name, label: called = name, device, state, readings: all }) =>
    all.map((reading) => ({ sensor: name, called, device, state, ...reading })),
  );
  return new Map(
    readings.map((reading) => {
      const id = `${reading.sensor} ${reading.key}`;
      const known = before.get(id);
      const isNew = known?.atMs !== reading.atMs;
      const number = typeof reading.value === 'boolean' ? Number(reading.value) : reading.value;
      const added = isNew && typeof number === 'number' ? [number] : [];
      return [id, { ...reading, history: [...(known?.history ?? []), ...added].slice(-HISTORY) }];
    }),
  );
}
