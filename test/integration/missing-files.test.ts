/** The whole agent while a file that its configuration names is not there: it measures and moves without contact, and takes the file when it comes. */
import { expect, it } from 'vitest';
import type { ConfigFault } from '../../src/config/fields/config-fault.ts';
import { worldWithAgent } from '../support/agent-in-world.ts';

const WITHOUT_MS = 5 * 60_000;
const AFTERWARDS_MS = 3 * 60_000;
const NO_TOKEN: ConfigFault = {
  line: 2,
  column: 1,
  path: 'platform.accessTokenFile',
  problem: 'no such file:',
  value: '/mnt/token',
  expected: 'a file',
  mayPass: true,
};

it('is not spoken to the platform, nor asked for a device of its own, before the token is there', async () => {
  const provisioning = {
    deviceName: 'second',
    onUnauthorised: 'hold',
    onOtherBoard: 'continue',
  } as const;
  const world = await worldWithAgent((made) => {
    const { accessToken: _missing, ...platform } = made.site.config.platform;
    made.configuration.file = { config: { ...made.site.config, platform, provisioning }, missing: [NO_TOKEN] };
  });
  await world.timeline.runUntil(WITHOUT_MS);
  expect(world.lives.deaths).toEqual([]);
  const waiting = world.life?.agent?.status();
  expect(waiting?.alerts.join('\n')).toContain('looked for again: platform.accessTokenFile: no such file: /mnt/token');
  expect(waiting).toMatchObject({ connection: { sentBytes: 0 }, sensors: [{ state: 'ok' }, { state: 'ok' }] });
  expect(world.durable.length).toBeGreaterThan(20);

  world.configuration.file = { config: { ...world.site.config, provisioning }, missing: [] };
  await world.timeline.runUntil(WITHOUT_MS + AFTERWARDS_MS);
  expect(world.lives.deaths).toEqual([]);
  const there = world.life?.agent?.status();
  expect(there?.alerts).toEqual([]);
  expect(there?.connection.acknowledgedEntries).toBe(world.durable.length);
});
