/** How the agent lives: it ends for nothing, comes back to all of its work, costs no more than it may, and tells no secret. */
import type { People } from '../people.ts';
import type { World } from '../world.ts';
import { isOnAt } from './intervals.ts';
import { few, type Sentence, seconds } from './sentence.ts';

const LINES_AN_HOUR = 800;
const DISK_BYTES = 5e6;
const DISK_BYTES_AN_HOUR = 5e5;
/** A place of a device's own has room taken ahead for its first segments. */
const DISK_BYTES_A_DEVICE = 6e5;
const ANSWER_WITHIN_MS = 5_000;

export const LIFE: readonly Sentence[] = [
  {
    name: 'the agent ends for nothing that it could live with',
    contradictions: (world) => few(world.lives.deaths.map((how) => `it ended: ${how}`)),
  },
  {
    name: 'a board that provisions itself finds its own device again',
    contradictions: ({ identity }) =>
      few(identity.strandings.map((atMs) => `at ${seconds(atMs)} it called the device somebody else's`)),
  },
  { name: 'every sensor is read at its period when nothing hinders it', contradictions: reading },
  { name: 'when all is calm, a command is answered, and moves', contradictions: answering },
  { name: 'when nothing is wrong any more, nothing is said to be wrong', contradictions: complaining },
  { name: 'when all is calm, the platform holds what each output shows', contradictions: telling },
  {
    name: 'requests are bounded, and few to a host that fails',
    contradictions: ({ network }) => network.requests.faults(),
  },
  { name: 'the disk is not filled', contradictions: filling },
  { name: 'the log is not flooded, and tells no secret', contradictions: logging },
];

function reading(world: World): string[] {
  const status = world.life?.agent?.status();
  if (status === undefined) return ['the agent does not run'];
  const nowMs = world.monotonicMs;
  return [...world.site.periods].flatMap(([sensor, periodMs]) => {
    const readings = status.sensors.find(({ name }) => name === sensor)?.readings ?? [];
    const atMs = Math.max(...readings.map((reading) => reading.atMs));
    const agoMs = nowMs - atMs;
    return agoMs > 2 * periodMs
      ? [`${sensor} was last read ${Math.round(agoMs / 1_000)} s ago, and its period is ${periodMs / 1_000} s`]
      : [];
  });
}

function answering(_world: World, people: People): string[] {
  return people.probes.flatMap(({ method, params, answer, answeredAtMs = Number.POSITIVE_INFINITY, atMs }) => {
    const words = JSON.stringify(answer);
    if (words === undefined || !words.startsWith('{"result"'))
      return [`${method} ${JSON.stringify(params)} was answered ${words ?? 'by nobody'}`];
    return answeredAtMs - atMs > ANSWER_WITHIN_MS
      ? [`${method} was answered after ${seconds(answeredAtMs - atMs)}`]
      : [];
  });
}

/** Time in which the report of a movement may be on its way. */
const TOLD_WITHIN_MS = 10_000;

function telling(world: World): string[] {
  const { site, timeline, platform, deviceId } = world;
  return site.outputs.flatMap(({ name, line }) => {
    if (world.movesOf(line).some(({ atMs }) => atMs > timeline.nowMs - TOLD_WITHIN_MS)) return [];
    const shows = isOnAt(world, line, timeline.nowMs);
    const { stateKey = `${name}State` } = site.config.actuators.find((one) => one.name === name) ?? {};
    const [told] = platform.state.attributes.read(deviceId, 'CLIENT_SCOPE', [stateKey]);
    return told?.value === shows
      ? []
      : [`${name} is ${shows ? 'on' : 'off'}, and the platform holds ${JSON.stringify(told?.value)}`];
  });
}

/** Words of the alert for entries that wait as nobody could say what time it was. */
const WAITING_FOR_TIME = 'wait for their time';

function complaining(world: World): string[] {
  const due = [...world.dueAlerts, ...(world.wall.unknownTimes.length > 0 ? [WAITING_FOR_TIME] : [])];
  return (world.life?.agent?.status().alerts ?? []).filter((alert) => !due.some((words) => alert.includes(words)));
}

function filling({ mostDiskBytes, timeline, site }: World): string[] {
  const most =
    DISK_BYTES + DISK_BYTES_A_DEVICE * site.config.devices.length + (DISK_BYTES_AN_HOUR * timeline.nowMs) / 3_600_000;
  return mostDiskBytes > most ? [`${mostDiskBytes} bytes`] : [];
}

function logging(world: World): string[] {
  const { secret, mostAnHour } = world.story.logged;
  return [
    ...(secret === undefined ? [] : [`the log has the token: ${secret}`]),
    ...(mostAnHour > LINES_AN_HOUR ? [`${mostAnHour} lines in an hour`] : []),
  ];
}
