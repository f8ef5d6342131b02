/**
 * Thirty changes of the configuration of an installed service, on trial with root's helper, the boot guard and systemd's own timer. Full runs only:
 * CI makes those for which it has time in the guest of systemd.test.ts.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CHANGES } from './configuration-changes.ts';
import { accountOf } from './installed-agent.ts';
import { recordFigure } from './results/figures.ts';
import { ServiceGuest } from './service-guest.ts';

const FULL = process.env.LAB_RUN === 'full';

describe.runIf(FULL)('the configuration of the service', () => {
  let service: ServiceGuest;

  beforeAll(async () => {
    service = await ServiceGuest.install('lab-configuration');
  }, 600_000);
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') console.log(await accountOf(service.guest).catch(String));
  });
  afterAll(async () => {
    await service?.close();
  });

  it.for(CHANGES)('$name', { timeout: 600_000 }, async ({ run }) => {
    await service.bench.make((bench) => run(bench, service));
  });

  it('was never lost', () => {
    recordFigure('configurations', service.bench.counts);
    expect(service.bench.counts).toEqual({ changes: CHANGES.length, lockedOut: 0 });
  });

  it('is good to the doctor', async () => {
    const { stdout } = await service.guest.attempt('turnstone doctor --json', { deadlineMs: 120_000 });
    const { checks } = JSON.parse(stdout) as { checks: readonly { readonly id: string; readonly verdict: string }[] };
    expect(checks.find(({ id }) => id === 'remote-configuration')?.verdict).toBe('good');
  });
});
