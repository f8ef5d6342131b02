/** Ownership of an actuator, against a model: any order of wishes, commands, reconciling, lockout and restarts. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ActuatorControl } from '../../../src/actuators/actuator-control.ts';
import { ActuatorMemory } from '../../../src/actuators/actuator-memory.ts';
import { OUTPUTS_FORMAT, OutputFile } from '../../../src/actuators/output-file.ts';
import { PulseMarks } from '../../../src/actuators/pulse-marks.ts';
import { APPLIED_VALUES_FORMAT, AppliedValues } from '../../../src/attributes/applied-values.ts';
import { SharedAttributes } from '../../../src/attributes/shared-attributes.ts';
import { actuatorTarget } from '../../../src/attributes/shared-target.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { FakeActuator, relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;

type Step =
  | { readonly kind: 'wish'; readonly level: number | undefined }
  | { readonly kind: 'command'; readonly level: number; readonly by: 'rpc' | 'local' | 'rule' }
  | { readonly kind: 'reconcile' | 'empty-answer' | 'restart' | 'lock' | 'unlock' };

const level = fc.integer({ min: 0, max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('wish' as const), level: fc.option(level, { nil: undefined }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('command' as const), level, by: fc.constantFrom('rpc', 'local', 'rule') }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('reconcile' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('empty-answer', 'restart', 'lock', 'unlock') }) },
);

/**
 * The rules in a few lines: a wish counts once, when it is first seen; the last writer owns; lockout stops all but the person on site, and
 * nobody who switches off.
 */
class Model {
  level = 0;
  seen: number | undefined;
  wish: number | undefined;
  locked = false;

  take(next: Step): void {
    if (next.kind === 'wish') this.wish = next.level;
    else if (next.kind === 'lock' || next.kind === 'unlock') this.locked = next.kind === 'lock';
    else if (next.kind === 'command' && (!this.locked || next.by === 'local' || next.level === 0))
      this.level = next.level;
    else if (next.kind === 'reconcile') {
      if (this.wish !== undefined && this.wish !== this.seen && (!this.locked || this.wish === 0))
        this.level = this.wish;
      this.seen = this.wish;
    }
  }
}

class Real {
  readonly folder: string;
  readonly dimmer = new FakeActuator(0);
  readonly #clock = new FakeClock();
  wish: number | undefined;
  locked = false;
  #control!: ActuatorControl;
  #shared!: SharedAttributes;
  #applied!: AppliedValues;

  constructor(folder: string) {
    this.folder = folder;
  }

  async start(): Promise<void> {
    const clock = this.#clock;
    const stateFile = (name: string, format: { format: string; version: number }): StateFile =>
      new StateFile({ ...format, path: join(this.folder, name), files: systemFiles, clock, log: silentLog });
    const outputs = await OutputFile.open(stateFile('actuators.json', OUTPUTS_FORMAT), clock);
    const memory = new ActuatorMemory({
      outputs,
      pulseMarks: await PulseMarks.open(this.folder, silentLog, { files: systemFiles, bootId: clock.bootId }),
    });
    const settings = relaySettings('dimmer', { valueType: 'number', limits: { min: 0, max: 3 } });
    const actuators = [{ settings, driver: this.dimmer }];
    this.#control = await ActuatorControl.open(
      { actuators, memory, locked: () => this.locked, clock, log: silentLog },
      never,
    );
    this.#applied = await AppliedValues.open(stateFile('shared.json', APPLIED_VALUES_FORMAT));
    const targets = [actuatorTarget('wish', 'dimmer', this.#control)];
    const nothing = { firmwareKeys: [], onFirmwareOffer: () => {}, onChange: () => {}, log: silentLog };
    this.#shared = await SharedAttributes.open({ targets: () => targets, applied: this.#applied, ...nothing }, never);
  }

  async stop(): Promise<void> {
    await this.#applied.close();
    await this.#control.close();
  }

  async take(next: Step): Promise<void> {
    if (next.kind === 'wish') this.wish = next.level;
    else if (next.kind === 'lock' || next.kind === 'unlock') this.locked = next.kind === 'lock';
    else if (next.kind === 'command')
      await this.#control.set('dimmer', next.level, { by: next.by }, never).catch(() => {});
    else if (next.kind === 'reconcile')
      await this.#shared.reconcile(this.wish === undefined ? {} : { wish: this.wish }, never);
    else if (next.kind === 'restart') {
      await this.stop();
      await this.start();
    }
    // An empty answer of the platform never reaches the reconciliation: the loop keeps everything.
  }
}

it('the last writer owns, and no reconciling undoes what was done since', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const folder = await mkdtemp(join(tmpdir(), 'turnstone-ownership-'));
      const model = new Model();
      const real = new Real(folder);
      await real.start();
      try {
        for (const [at, next] of steps.entries()) {
          model.take(next);
          await real.take(next);
          expect(real.dimmer.shown, `after step ${at}, ${JSON.stringify(next)}`).toBe(model.level);
        }
      } finally {
        await real.stop();
        await rm(folder, { recursive: true });
      }
    }),
    { numRuns: 300 },
  );
});
