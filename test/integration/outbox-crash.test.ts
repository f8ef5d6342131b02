/**
 * Three hundred outboxes killed at random, by SIGKILL of their processes, half of them as a power cut would: nothing whose append resolved is missing in the end, and
 * every entry keeps its time. The same harness must find fault with two builds that are broken on purpose. OUTBOX_KILLS=3000 kills more.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleChild } from '../support/bundled-child.ts';
import { runCampaign } from '../support/outbox-crash-campaign.ts';

const KILLS = Number(process.env.OUTBOX_KILLS ?? 300);
const TIMEOUT_MS = Math.max(180_000, KILLS * 1_000);
/** So many kills find a broken build for certain: each one loses something by itself. */
const BROKEN_KILLS = 8;
const LIFE_MS = 60;

let folder: string;
let child: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-crash-child-'));
  child = await bundleChild(join(import.meta.dirname, '../support/outbox-crash-child.ts'), folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('what was durable reaches the platform, with one time', () => {
  for (const kind of ['kill', 'power'] as const) {
    it.concurrent(
      kind === 'kill' ? 'through SIGKILL' : 'through SIGKILL with all that was not synced lost',
      async () => {
        const result = await runCampaign({
          child,
          build: 'whole',
          kind,
          kills: Math.ceil(KILLS / 2),
          longestLifeMs: LIFE_MS,
          random: Math.random,
        });
        expect(result.lost).toEqual([]);
        expect(result.changed).toEqual([]);
        expect(result.clashing).toEqual([]);
        console.log(kind, result.resolved, result.posted);
        expect(result.resolved).toBeGreaterThan(KILLS);
      },
      TIMEOUT_MS,
    );
  }
});

describe('the campaign finds fault with', () => {
  const broken = { kills: BROKEN_KILLS, longestLifeMs: 150, random: Math.random };

  it(
    'a build that never syncs',
    async () => {
      const { lost } = await runCampaign({ ...broken, child, build: 'never-syncs', kind: 'power' });
      expect(lost.length).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  it(
    'a build that acknowledges before it posts',
    async () => {
      const { lost } = await runCampaign({
        ...broken,
        child,
        kills: 5 * BROKEN_KILLS,
        build: 'acknowledges-first',
        kind: 'kill',
      });
      expect(lost.length).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
