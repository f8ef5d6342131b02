/** What systemd tells of a unit that does not run, in words with what to do. */
import { expect, it } from 'vitest';
import { notRunning } from '../../../src/cli/agent-calls.ts';
import { stoppedUnit } from '../../../src/doctor/checks/stopped-unit.ts';
import type { UnitFacts } from '../../../src/host/machine-facts.ts';

const RUNS: UnitFacts = {
  load: 'loaded',
  active: 'active',
  enabled: 'enabled',
  result: 'success',
  restarts: 0,
  exitCode: 0,
  watchdogMs: 30_000,
  dropIns: [],
  user: 'turnstone',
};

it.each([
  [{ active: 'failed', exitCode: 78, result: 'exit-code' }, /refused its configuration/, /sudo turnstone check-config/],
  [{ active: 'failed', exitCode: 1, result: 'core-dump' }, /it has failed \(core-dump\)/, /journalctl/],
  [{ active: 'activating', exitCode: 66 }, /cannot read its configuration/, /once the file can be read/],
  [{ active: 'activating', exitCode: 1, restarts: 7 }, /again and again \(7 times\)/, /journalctl/],
  [{ active: 'inactive' }, /it is inactive/, /^sudo systemctl start turnstone$/],
  [{ load: 'not-found', active: 'inactive' }, /not installed/, /install\.sh/],
])('%j', (facts, reason, remedy) => {
  const stopped = stoppedUnit({ ...RUNS, ...facts });
  expect(stopped?.reason).toMatch(reason);
  expect(stopped?.remedy).toMatch(remedy);
});

it.each([{}, { active: 'activating' }])('says nothing of one that runs, or is about to: %j', (facts) => {
  expect(stoppedUnit({ ...RUNS, ...facts })).toBeUndefined();
});

it('is what a command says that misses the agent', () => {
  const stopped = stoppedUnit({ ...RUNS, active: 'failed', exitCode: 78 });
  expect(notRunning('/run/turnstone', stopped, undefined)).toMatchObject({
    says: 'no agent answers in /run/turnstone: it refused its configuration and is not started again',
    hint: stopped?.remedy,
  });
});
