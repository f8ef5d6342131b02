/** Faults of time: what a wrong clock, a step and a boot without one do to the times of entries. */
import type { PlantedFault } from './fault.ts';

export const TIME_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a clock that nobody vouches for is believed',
    file: 'outbox/times/boot-times.ts',
    old: 'const offsetMs = timeSync.isSynchronised() ? wallOffsetMs(clock) : undefined;',
    new: 'const offsetMs = wallOffsetMs(clock);',
    needs: ['no clock battery'],
  },
  {
    name: 'an offset that was given out is never followed by another',
    file: 'outbox/times/boot-offsets.ts',
    old: 'if (stepMs < STEP_MS) return undefined;',
    new: 'if (stepMs < STEP_MS || last.frozen) return undefined;',
    needs: ['clock step'],
  },
  {
    name: 'a step of the clock moves what was taken before it',
    file: 'outbox/times/boot-offsets.ts',
    old: 'right(Math.max(sinceMs, 1 + Math.max(last.fromMs, lastMs, heldMs)))];',
    new: 'right(0)];',
    needs: ['clock step', 'no network'],
  },
  {
    name: 'what the clock says now is the time of all that waits',
    file: 'outbox/times/boot-offsets.ts',
    old: 'return offsets.findLast((offset) => offset.fromMs <= ms) ?? offsets[0];',
    new: 'return offsets.at(-1);',
    needs: ['clock step', 'no network'],
  },
  {
    name: 'after a step the first offset of the boot goes on',
    file: 'outbox/times/boot-offsets.ts',
    old: 'return offsets.findLast((offset) => offset.fromMs <= ms) ?? offsets[0];',
    new: 'return offsets[0];',
    needs: ['clock step'],
  },
  {
    name: 'the correction of the platform is taken away in place of added',
    file: 'host/time-sync.ts',
    old: 'clock.wallMs() + timeSync.correctionMs()',
    new: 'clock.wallMs() - timeSync.correctionMs()',
    needs: ['no clock battery'],
  },
  {
    name: 'the date of the platform is not used to correct the clock',
    file: 'host/time-sync.ts',
    old: 'if (this.#borrowed === undefined) return 0;',
    new: 'return 0;',
    needs: ['no clock battery'],
  },
  {
    name: 'a boot whose time is not known gets the time of the boot before it',
    file: 'outbox/times/known-boots.ts',
    old: 'if (before === undefined || after === undefined) return undefined;',
    new: 'if (before === undefined || after === undefined) return before === undefined ? undefined : knownOffsetMs(before);',
    needs: ['no clock battery'],
  },
  {
    name: 'all entries of a block have the offset of its first',
    file: 'outbox/times/entry-resolver.ts',
    old: 'if (stretch === undefined || ms < stretch.fromMs || ms >= stretch.untilMs) stretch = stretchAt(ms);',
    new: 'stretch ??= stretchAt(ms);',
    needs: ['clock step', 'read-only disk|hanging sync|disk fails'],
  },
];
