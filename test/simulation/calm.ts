/**
 * Wishes of people for the lamp when all is calm, one after the other: also while somebody works on the plant, while the pins hang for a while, and
 * while the disk takes nothing, before the process is killed and cannot read what it kept as it begins again.
 */
import { KEY_SWITCH } from './equipment.ts';
import type { People, Wish } from './people.ts';
import { STATE_FOLDER } from './site.ts';
import { RESTART_AFTER_MS } from './world.ts';

const SECOND_MS = 1_000;

interface CalmWish extends Pick<Wish, 'under'> {
  readonly beforeEndMs: number;
  readonly value: boolean;
}

/** The first may be what stood there. */
const CALM_WISHES: readonly CalmWish[] = [
  { beforeEndMs: 690 * SECOND_MS, value: false },
  { beforeEndMs: 630 * SECOND_MS, value: true, under: 'failing disk' },
  { beforeEndMs: 390 * SECOND_MS, value: false },
  { beforeEndMs: 330 * SECOND_MS, value: true, under: 'key switch' },
  { beforeEndMs: 300 * SECOND_MS, value: false },
  { beforeEndMs: 270 * SECOND_MS, value: true, under: 'hung pins' },
  { beforeEndMs: 120 * SECOND_MS, value: false },
  { beforeEndMs: 90 * SECOND_MS, value: true },
  { beforeEndMs: 60 * SECOND_MS, value: false },
  { beforeEndMs: 30 * SECOND_MS, value: true },
];
/** Lead of a hindrance before the wish that it is for. */
const AHEAD_MS = 5 * SECOND_MS;
const LOCKED_MS = 25 * SECOND_MS;
const HUNG_MS = 10 * SECOND_MS;
/** Until what was wished is kept at last. */
const FAILING_MS = 15 * SECOND_MS;
const KILLED_AFTER_MS = 100 * SECOND_MS;
/** A lack of descriptors passes in a second, else a start goes on without. */
const UNREAD_MS = 400;

/** Settings of the door: the second fits only once the first is in force. They hold until the process was killed, and until they are taken back. */
const SETTINGS = [
  {
    key: 'sensors.door.keys.state.maxInterval',
    setMs: 20 * 60_000,
    fromBeforeEndMs: 710 * SECOND_MS,
    untilBeforeEndMs: 405 * SECOND_MS,
  },
  {
    key: 'sensors.door.keys.state.minInterval',
    setMs: 15 * 60_000,
    fromBeforeEndMs: 705 * SECOND_MS,
    untilBeforeEndMs: 410 * SECOND_MS,
  },
  { key: 'sensors.door.period', setMs: 30_000, fromBeforeEndMs: 700 * SECOND_MS, untilBeforeEndMs: 400 * SECOND_MS },
] as const;
const SEEN_AFTER_MS = 12 * SECOND_MS;

/** The agent is stopped, and again while it starts. */
const STOPPED = { beforeEndMs: 500 * SECOND_MS, whileStartingMs: 50 } as const;

export function planCalm(people: People, endMs: number): void {
  const { timeline, site } = people.world;
  // Two starts cost as much as some minutes, and a stop ends what was wished.
  if (site.outputs.length % 2 === 0 && !site.outputs.some(({ name }) => name === 'lamp')) {
    const atMs = endMs - STOPPED.beforeEndMs;
    timeline.after(atMs, () => people.world.stopAgent());
    timeline.after(atMs, () =>
      timeline.after(RESTART_AFTER_MS + STOPPED.whileStartingMs, () => stopWhileStarting(people)),
    );
  }
  for (const { key, setMs, fromBeforeEndMs, untilBeforeEndMs } of SETTINGS) {
    const due = [SEEN_AFTER_MS, fromBeforeEndMs - untilBeforeEndMs - SEEN_AFTER_MS].map((afterMs) => ({
      afterMs,
      value: setMs,
    }));
    timeline.after(endMs - fromBeforeEndMs, () => people.probeSetting(key, `${setMs}ms`, due));
    timeline.after(endMs - untilBeforeEndMs, () =>
      people.probeSetting(key, undefined, [{ afterMs: SEEN_AFTER_MS, value: undefined }]),
    );
  }
  for (const { beforeEndMs, value, under } of CALM_WISHES) {
    const atMs = endMs - beforeEndMs;
    if (under !== undefined) timeline.after(atMs - AHEAD_MS, () => begin(people, under));
    timeline.after(atMs, () => people.probeWish('lamp', value, under));
  }
}

function begin(people: People, under: NonNullable<Wish['under']>): void {
  if (under === 'key switch') turnKeySwitch(people);
  else if (under === 'hung pins') hangPins(people);
  else failThenKill(people);
}

function stopWhileStarting({ world }: People): void {
  if (world.life !== undefined && world.life.agent === undefined) world.stopAgent();
}

function turnKeySwitch({ world: { timeline, story, rig } }: People): void {
  story.tell('the key switch is turned');
  timeline.after(LOCKED_MS, rig.hold(KEY_SWITCH, 1));
}

function hangPins({ world: { timeline, story, rig, hindrances } }: People): void {
  story.tell('the pins hang');
  const mended = hindrances.begin();
  const end = rig.breakPart('gpio', 'hang');
  timeline.after(HUNG_MS, () => {
    mended();
    end();
  });
}

/** Makes the disk fail and kills the process: the journal is kept in the end, and whoever wished is not answered once more after a start. */
function failThenKill({ world }: People): void {
  const { timeline, story, disk, diskTroubles } = world;
  // A disk that was well so far is judged by more.
  if (!disk.wasFaulty) return;
  story.tell('the disk takes nothing');
  const over = diskTroubles.begin();
  const end = disk.addFaults({
    fail: (operation, path) => (operation === 'write' && path.startsWith(STATE_FOLDER) ? { code: 'EIO' } : undefined),
  });
  timeline.after(FAILING_MS, () => {
    over();
    end();
  });
  timeline.after(AHEAD_MS + KILLED_AFTER_MS, () => {
    story.tell('the process is killed, and too many files are open');
    world.killAgent();
    const ended = disk.addFaults({
      fail: (operation, path) =>
        operation === 'open' && path.startsWith(STATE_FOLDER) ? { code: 'EMFILE' } : undefined,
    });
    timeline.after(RESTART_AFTER_MS + UNREAD_MS, ended);
  });
}
