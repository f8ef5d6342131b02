/** A sensor that speaks by itself works when it says something: that its port can be opened says nothing. */
import { expect, it } from 'vitest';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { Reading } from '../../../src/sensors/kind/sensor.ts';
import { Sampler } from '../../../src/sensors/sampler.ts';
import { FakeClock } from '../../support/fake-clock.ts';

it('fails until it is heard, however often its port is opened anew', async () => {
  const clock = new FakeClock();
  const states: string[] = [];
  let isSilent = true;
  let opened = 0;
  let speak: (readings: readonly Reading[]) => void = () => {};
  const open = async () => {
    opened += 1;
    let reads = 0;
    return {
      name: 'station',
      speaksByItself: true,
      close: async () => {},
      // Just opened it cannot have been silent for too long.
      read: async (): Promise<readonly Reading[]> => {
        reads += 1;
        if (isSilent && reads > 2) throw new AgentError('sensors/silent', 'nothing comes', { recovery: 'retry' });
        return [];
      },
      subscribe: (listener: typeof speak) => {
        speak = listener;
        return () => {};
      },
    };
  };
  const sampler = new Sampler(
    { clock, log: silentLog, onSamples: () => {}, onStateChange: ({ state }) => states.push(state) },
    [{ name: 'station', kind: 'test', periodMs: 1_000, deadlineMs: 800, align: false, revision: '1', open }],
  );
  sampler.start(new AbortController().signal);
  await clock.advance(500);
  expect(sampler.states()[0]?.state).toBe('starting');
  await clock.advance(10 * 60_000);
  expect(opened).toBeGreaterThan(3);
  expect([states, sampler.states()[0]?.state]).toEqual([['failing'], 'failing']);

  isSilent = false;
  await clock.advance(5 * 60_000);
  expect(sampler.states()[0]?.state).toBe('failing');
  speak([{ key: 'temperature', value: 4 }]);
  expect([states, sampler.states()[0]?.state]).toEqual([['failing', 'working'], 'working']);
  await sampler.close();
});

it('fails as soon as it knows that it will, and not a period later', async () => {
  const clock = new FakeClock();
  const states: string[] = [];
  let isGone = false;
  let tell = (): void => {};
  const open = async () => ({
    name: 'station',
    speaksByItself: true,
    close: async () => {},
    read: async (): Promise<readonly Reading[]> => {
      if (isGone) throw new AgentError('sensors/unavailable', 'its last will came', { recovery: 'retry' });
      return [];
    },
    subscribe: (listener: (readings: readonly Reading[]) => void) => {
      listener([{ key: 'temperature', value: 4 }]);
      return () => {};
    },
    onTrouble: (listener: () => void) => {
      tell = listener;
      return () => {};
    },
  });
  const sampler = new Sampler(
    { clock, log: silentLog, onSamples: () => {}, onStateChange: ({ state }) => states.push(state) },
    [{ name: 'station', kind: 'test', periodMs: 3_600_000, deadlineMs: 800, align: false, revision: '1', open }],
  );
  sampler.start(new AbortController().signal);
  await clock.advance(500);
  isGone = true;
  tell();
  await clock.advance(100);
  expect(states).toEqual(['working', 'failing']);
  await sampler.close();
});
