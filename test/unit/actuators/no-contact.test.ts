/** Silence of the platform: counted from the start, told once, and anew after it was heard. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ActuatorSlot } from '../../../src/actuators/actuator-slot.ts';
import { ContactWatch, type Holder } from '../../../src/actuators/no-contact.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

let clock: FakeClock;
let lost: unknown[];
let silenced: unknown[];
let silences: AbortSignal[];
let watch: ContactWatch;
const record = { state: { by: 'rule' as const }, overrulings: 0 };
// What it asks of slots.
const slots = [
  { record, settings: relaySettings('soon', { safe: { noContact: { afterMs: 1_000, value: false } } }) },
  { record, settings: relaySettings('later', { safe: { noContact: { afterMs: 3_000, value: true } } }) },
  { record, settings: relaySettings('never', { safe: { start: false } }) },
] as unknown as readonly [ActuatorSlot, ActuatorSlot, ActuatorSlot];

beforeEach(() => {
  clock = new FakeClock();
  [lost, silences, silenced] = [[], [], []];
  watch = new ContactWatch({
    slots,
    clock,
    memory: { silence: ({ name }, isSilenced) => silenced.push([name, isSilenced]) },
    safeStates: {
      setAll: async (states, _occasion, silence) => {
        silences.push(silence as AbortSignal);
        lost.push(...states.map(({ slot, value }) => [clock.monotonicMs() - 10_000, slot.settings.name, value]));
      },
      endSilence: () => {},
    },
  });
});

it('is counted from the start, and told once for each actuator', async () => {
  await clock.advance(60_000);
  expect(lost).toEqual([
    [1_000, 'soon', false],
    [3_000, 'later', true],
  ]);
  expect(clock.pending).toBe(0);
});

it('is remembered of each actuator until the platform is heard', async () => {
  await clock.advance(2_000);
  expect(silenced).toEqual([['soon', true]]);
  watch.heard();
  expect(silenced.slice(1)).toEqual([
    ['soon', false],
    ['later', false],
  ]);
});

it('is counted from when the platform was heard last', async () => {
  for (let heard = 0; heard < 5; heard += 1) {
    await clock.advance(900);
    watch.heard();
  }
  expect(clock.pending).toBe(2);
  await clock.advance(999);
  expect(lost).toEqual([]);
  await clock.advance(1);
  expect(lost).toEqual([[5_500, 'soon', false]]);
  watch.heard();
  await clock.advance(1_000);
  expect(lost.at(-1)).toEqual([6_500, 'soon', false]);
  await clock.advance(2_000);
  expect(lost.at(-1)).toEqual([8_500, 'later', true]);
});

it('is of no interest once all is closed', async () => {
  await clock.advance(1_000);
  watch.close();
  expect(clock.pending).toBe(0);
  watch.heard();
  await clock.advance(60_000);
  expect([lost.length, clock.pending]).toEqual([1, 0]);
});

it('lasts until the platform is heard or all is closed', async () => {
  const ended = (): readonly boolean[] => silences.map(({ aborted }) => aborted);
  await clock.advance(3_000);
  expect(ended()).toEqual([false, false]);
  watch.heard();
  expect(ended()).toEqual([true, true]);
  await clock.advance(1_000);
  expect(ended()).toEqual([true, true, false]);
  watch.close();
  expect(ended()).toEqual([true, true, true]);
});

it('has the platform asked half way into the shortest time, and once more, for as long as it is silent', async () => {
  let asked: number[] = [];
  const leave = watch.onQuiet(() => asked.push(clock.monotonicMs() - 10_000));
  await clock.advance(5_000);
  expect(asked).toEqual([500, 750]);
  watch.heard();
  await clock.advance(600);
  watch.heard();
  await clock.advance(400);
  watch.heard();
  asked = [];
  await clock.advance(749);
  expect(asked).toEqual([6_500]);
  watch.heard();
  await clock.advance(10_000);
  expect(asked).toEqual([6_500, 7_249, 7_499]);
  leave();
  watch.heard();
  await clock.advance(10_000);
  expect(asked.length).toBe(3);
});

it('whose platform answers when it is asked does not begin', async () => {
  watch.onQuiet(() => watch.heard());
  await clock.advance(60_000);
  expect(lost).toEqual([]);
});

describe('what a local rule holds', () => {
  let heldAtMs: number | undefined | 'now';
  let displaced: string[];

  beforeEach(() => {
    [heldAtMs, displaced] = ['now', []];
    const holder: Holder = {
      heldAtMs: (actuator) => (actuator !== 'soon' ? undefined : heldAtMs === 'now' ? clock.monotonicMs() : heldAtMs),
      displaced: (actuator) => displaced.push(actuator),
    };
    watch.heed(holder);
  });

  it('is left alone, and gets its safe state when the rule is over in the silence and has set nothing', async () => {
    await clock.advance(9_500);
    expect(lost).toEqual([[3_000, 'later', true]]);
    heldAtMs = undefined;
    watch.released('soon', { isSet: false });
    expect(lost.at(-1)).toEqual([9_500, 'soon', false]);
    expect([displaced, clock.pending]).toEqual([['later', 'soon'], 0]);
  });

  it('stays as the rule leaves it in that silence', async () => {
    await clock.advance(5_000);
    heldAtMs = undefined;
    watch.released('soon', { isSet: true });
    await clock.advance(5_000);
    expect(lost).toEqual([[3_000, 'later', true]]);
    watch.heard();
    await clock.advance(1_000);
    expect(lost.at(-1)).toEqual([11_000, 'soon', false]);
  });

  it('gets its safe state when the rule has seen nothing for the time either', async () => {
    await clock.advance(5_200);
    heldAtMs = clock.monotonicMs();
    await clock.advance(999);
    expect(lost.length).toBe(1);
    await clock.advance(1);
    expect([lost.at(-1), displaced]).toEqual([
      [6_200, 'soon', false],
      ['later', 'soon'],
    ]);
  });

  it('is left to whoever has taken it over in the silence', async () => {
    await clock.advance(5_000);
    heldAtMs = undefined;
    await clock.advance(60_000);
    expect([lost.length, clock.pending]).toEqual([1, 0]);
  });

  it('is looked at again when it was set after its turn, for as long as it is seen', async () => {
    heldAtMs = undefined;
    await clock.advance(1_000);
    watch.update(slots[0]);
    expect([lost.length, clock.pending]).toEqual([1, 1]);
    heldAtMs = 'now';
    watch.update(slots[0]);
    await clock.advance(8_500);
    heldAtMs = clock.monotonicMs() + 200;
    await clock.advance(1_199);
    expect(lost.length).toBe(2);
    await clock.advance(1);
    expect(lost.at(-1)).toEqual([10_700, 'soon', false]);
    heldAtMs = 'now';
    watch.update(slots[0]);
    heldAtMs = undefined;
    watch.released('soon', { isSet: false });
    expect(lost.at(-1)).toEqual([10_700, 'soon', false]);
    expect([lost.length, clock.pending]).toEqual([4, 0]);
  });

  it('is not looked at again once all is closed, nor sooner than usual', async () => {
    watch.update(slots[0]);
    heldAtMs = undefined;
    await clock.advance(1_000);
    heldAtMs = 'now';
    watch.close();
    watch.update(slots[0]);
    expect([lost, clock.pending]).toEqual([[[1_000, 'soon', false]], 0]);
  });

  it('is due as usual in the next silence when the rule was over, and had left something, between the two', async () => {
    await clock.advance(5_000);
    watch.heard();
    heldAtMs = undefined;
    watch.released('soon', { isSet: true });
    await clock.advance(999);
    expect(lost.length).toBe(1);
    await clock.advance(1);
    expect(lost.at(-1)).toEqual([6_000, 'soon', false]);
  });

  it('is due as usual when the rule was over before', async () => {
    await clock.advance(500);
    heldAtMs = undefined;
    watch.released('soon', { isSet: false });
    await clock.advance(499);
    expect(lost).toEqual([]);
    await clock.advance(1);
    expect(lost).toEqual([[1_000, 'soon', false]]);
  });
});
