/** Plans of worlds, shortened to what their contradictions need. */
import { describe, expect, it } from 'vitest';
import type { Plan, Planned } from '../../simulation/plan.ts';
import { shortened } from '../../simulation/shorten.ts';

const part = (name: string): Planned => ({ source: name, name, atMs: 0 });
const PLAN: Plan = {
  seed: 1,
  isLong: false,
  calmFromMs: 0,
  troubles: ['kill', 'no network', 'stop'].map(part),
  deeds: ['motor', 'pulse'].map(part),
};

describe('the shortest plan', () => {
  it('is none for a world that is well, which lives once', async () => {
    let lived = 0;
    const live = async () => {
      lived += 1;
      return { contradictions: [] };
    };
    expect(await shortened(PLAN, live)).toEqual({ verdict: { contradictions: [] } });
    expect(lived).toBe(1);
  });

  it('has what the same sentence is contradicted with, and nothing else', async () => {
    const live = async ({ troubles, deeds }: Plan) => {
      const names = [...troubles, ...deeds].map(({ name }) => name);
      const isBroken = names.includes('no network') && names.includes('pulse');
      return { contradictions: isBroken ? ['all arrives: 1 is missing'] : ['another: one'] };
    };
    const { verdict, short } = await shortened(PLAN, live);
    expect(verdict.contradictions).toHaveLength(1);
    expect(short).toMatchObject({ troubles: [part('no network')], deeds: [part('pulse')] });
  });
});
