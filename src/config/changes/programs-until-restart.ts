/**
 * Sensors are opened anew by a reload, and outputs by a restart only. A program that both share would run twice at once on one device: until the
 * restart its sensors go on with the one that the output runs.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ActuatorConfig, AgentConfig, SensorConfig } from '../schema/agent-config.ts';

export interface ProgramsBefore {
  /** The actuators as they were opened. */
  readonly opened: readonly ActuatorConfig[];
  /** The sensors that ran so far. */
  readonly sensors: readonly SensorConfig[];
}

type Section = SensorConfig | ActuatorConfig;

/** The sensors to go by with this configuration: its own, but for programs that wait. */
export function programsUntilRestart(
  { opened, sensors: before }: ProgramsBefore,
  { actuators, sensors }: Pick<AgentConfig, 'actuators' | 'sensors'>,
): readonly SensorConfig[] {
  const next = new Map(actuators.filter(({ enabled }) => enabled).map((one) => [one.name, programOf(one)]));
  const waiting = opened.flatMap((one) => {
    const [now, then] = [programOf(one), next.get(one.name)];
    return now === undefined || isDeepStrictEqual(now, then) ? [] : [{ now, then }];
  });
  return sensors.map((sensor) => {
    const wanted = programOf(sensor);
    if (wanted === undefined) return sensor;
    const old = before.find(({ name, enabled }) => name === sensor.name && enabled);
    const running = old === undefined ? undefined : programOf(old);
    const kept = waiting.find(
      ({ now, then }) => isDeepStrictEqual(wanted, then) || (running !== undefined && isDeepStrictEqual(running, now)),
    );
    return kept === undefined ? sensor : { ...sensor, ...kept.now };
  });
}

/** Options that make it the same program. */
function programOf(section: Section) {
  if (section.kind !== 'process') return;
  const { program, arguments: args, environment } = section;
  return { program, arguments: args, environment };
}
