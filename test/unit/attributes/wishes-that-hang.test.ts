/** A wish that changes while the hardware is slow, silent or half broken: once all is well, the newest holds. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ActuatorControl } from '../../../src/actuators/actuator-control.ts';
import { ActuatorMemory } from '../../../src/actuators/actuator-memory.ts';
import { OUTPUTS_FORMAT, OutputFile } from '../../../src/actuators/output-file.ts';
import { PulseMarks } from '../../../src/actuators/pulse-marks.ts';
import { APPLIED_VALUES_FORMAT, AppliedValues } from '../../../src/attributes/applied-values.ts';
import { SharedAttributes } from '../../../src/attributes/shared-attributes.ts';
import { actuatorTarget } from '../../../src/attributes/shared-target.ts';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { FakeActuator, relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const never = new AbortController().signal;
const MODES = ['ok', 'slow', 'hangs', 'fails', 'moves and fails'] as const;

type Step = { readonly mode: (typeof MODES)[number] } | { readonly wish: number } | { readonly waitMs: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ mode: fc.constantFrom(...MODES) }) },
  { weight: 8, arbitrary: fc.record({ wish: fc.integer({ min: 0, max: 2 }) }) },
  { weight: 7, arbitrary: fc.record({ waitMs: fc.constantFrom(200, 1_000, 3_000, 8_000) }) },
);

class World {
  readonly clock = new FakeClock({ monotonicMs: 1_000_000 });
  readonly dimmer = new FakeActuator(0);
  mode: (typeof MODES)[number] = 'ok';
  wish: number | undefined;
  #control!: ActuatorControl;
  #shared!: SharedAttributes;

  async start(minOffMs: number | undefined): Promise<void> {
    const { clock, dimmer } = this;
    const files = new MemoryFiles();
    const broken = new AgentError('hardware/modbus-no-answer', 'silent', { recovery: 'retry' });
    dimmer.beforeWrite = async (value) => {
      if (this.mode === 'slow') await clock.sleep(700, never);
      if (this.mode === 'ok' || this.mode === 'slow') return;
      if (this.mode === 'hangs') await clock.sleep(3_000, never);
      if (this.mode === 'moves and fails') dimmer.shown = value;
      throw broken;
    };
    const file = (path: string, format: { format: string; version: number }): StateFile =>
      new StateFile({ ...format, path, files, clock, log: silentLog });
    const outputs = await OutputFile.open(file('/state/actuators.json', OUTPUTS_FORMAT), clock);
    const pulseMarks = await PulseMarks.open('/state', silentLog, { files, bootId: clock.bootId });
    const settings = relaySettings('dimmer', {
      valueType: 'number',
      limits: minOffMs === undefined ? {} : { minOffMs },
    });
    const actuators = [{ settings, driver: dimmer }];
    const memory = new ActuatorMemory({ outputs, pulseMarks });
    this.#control = await ActuatorControl.open(
      { actuators, memory, locked: () => false, clock, log: silentLog },
      never,
    );
    const applied = await AppliedValues.open(file('/state/shared.json', APPLIED_VALUES_FORMAT));
    const targets = [actuatorTarget('wish', 'dimmer', this.#control)];
    const nothing = { firmwareKeys: [], onFirmwareOffer: () => {}, onChange: () => {}, log: silentLog };
    this.#shared = await SharedAttributes.open({ targets: () => targets, applied, ...nothing }, never);
  }

  read(): void {
    void this.#shared.reconcile(this.wish === undefined ? {} : { wish: this.wish }, never);
  }

  /** As the loop does, with a look each second at what waits. */
  async wait(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 1_000) {
      if (this.#shared.hasWaiting) void this.#shared.retryWaiting(never);
      await this.clock.advance(Math.min(leftMs, 1_000));
    }
  }

  async take(next: Step): Promise<void> {
    if ('mode' in next) this.mode = next.mode;
    else if ('wish' in next) this.wish = next.wish;
    else await this.wait(next.waitMs);
    if (!('mode' in next)) this.read();
  }

  async calm(): Promise<void> {
    this.mode = 'ok';
    for (let round = 0; round < 6; round += 1) {
      this.read();
      await this.wait(5_000);
    }
  }
}

it('the newest wish holds once the hardware answers, whatever it did in between', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 8, maxLength: 14 }),
      fc.constantFrom(undefined, 5_000),
      async (steps, minOffMs) => {
        const world = new World();
        await world.start(minOffMs);
        for (const next of steps) await world.take(next);
        await world.calm();
        expect(world.dimmer.shown).toBe(world.wish ?? 0);
      },
    ),
    { numRuns: 150, seed: 1 },
  );
});
