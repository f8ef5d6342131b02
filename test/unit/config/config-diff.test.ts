import { describe, expect, it } from 'vitest';
import { changedItems, changedSections, configHash, secretsOf } from '../../../src/config/changes/config-diff.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';

const SENSORS = 'sensors: [{ name: in, kind: sht3x }, { name: cpu, kind: host }]\n';

describe('two configurations', () => {
  it('have one hash when they say the same, in whatever order and with whatever comments', async () => {
    const one = await configOf(`${SMALLEST}log: { level: info }\n${SENSORS}`);
    const other = await configOf(
      `# the same\n${SENSORS}platform: { accessToken: fixture-token, url: "https://example.org" }\nversion: 1\n`,
    );
    expect(configHash(other)).toBe(configHash(one));
    expect(configHash(one)).toMatch(/^[0-9a-f]{16}$/);
  });

  it('have different hashes when a value differs, but none for a secret that differs', async () => {
    const one = await configOf(SMALLEST);
    expect(configHash(await configOf(`${SMALLEST}log: { level: debug }\n`))).not.toBe(configHash(one));
    expect(configHash(await configOf(SMALLEST.replace('fixture-token', 'another-token')))).toBe(configHash(one));
  });

  it('are compared section by section, secrets included', async () => {
    const one = await configOf(`${SMALLEST}${SENSORS}`);
    expect(changedSections(one, await configOf(`${SMALLEST}${SENSORS}# a comment\n`))).toEqual([]);
    expect(
      changedSections(
        one,
        await configOf(`${SMALLEST.replace('fixture-token', 'another')}${SENSORS}upload: { interval: 5s }\n`),
      ),
    ).toEqual(['platform', 'upload']);
    expect(changedSections(one, await configOf(`${SMALLEST}${SENSORS}analytics: { url: "https://x" }\n`))).toEqual([
      'analytics',
    ]);
  });

  it('are compared sensor by sensor', async () => {
    const one = await configOf(`${SMALLEST}${SENSORS}`);
    const other = await configOf(
      `${SMALLEST}sensors: [{ name: cpu, kind: host, period: 1m }, { name: out, kind: tmp102 }]\n`,
    );
    const { added, removed, changed } = changedItems(one.sensors, other.sensors);
    expect([added, removed, changed].map((items) => items.map(({ name }) => name))).toEqual([['out'], ['in'], ['cpu']]);
    expect(changed[0]?.periodMs).toBe(60_000);
  });

  it('give up every secret, for the log to hide', async () => {
    const config = await configOf(
      `${SMALLEST}status: { pin: "4711" }\nanalytics: { url: "https://x", password: pass }\n`,
    );
    expect(secretsOf(config).map((secret) => secret.reveal())).toEqual(['fixture-token', '4711', 'pass']);
  });
});
