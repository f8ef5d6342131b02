/** Actuators over fake hardware, a clock and a run folder in memory: opened, killed (opened again without a close), asked, and listened to. */

import { ActuatorControl } from '../../src/actuators/actuator-control.ts';
import { ActuatorMemory } from '../../src/actuators/actuator-memory.ts';
import { KEPT_PULSES_FORMAT, KeptPulses } from '../../src/actuators/kept-pulses.ts';
import type { ActuatorDriver, ActuatorSettings, ActuatorValue } from '../../src/actuators/kind/actuator.ts';
import { OUTPUTS_FORMAT, OutputFile } from '../../src/actuators/output-file.ts';
import type { RuleWords } from '../../src/actuators/priority-slots.ts';
import { PulseMarks } from '../../src/actuators/pulse-marks.ts';
import type { RuleEvent } from '../../src/actuators/rule-event.ts';
import type { Sentence } from '../../src/errors/sentence.ts';
import type { Log } from '../../src/host/log.ts';
import { english } from '../../src/names/sentences.ts';
import { StateFile } from '../../src/store/state-file.ts';
import { FakeActuator } from './fake-actuator.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryFiles } from './memory-files.ts';

const never = new AbortController().signal;

export class ActuatorBench {
  readonly clock = new FakeClock({ monotonicMs: 100_000 });
  readonly files = new MemoryFiles();
  readonly drivers: Record<string, ActuatorDriver> = {};
  readonly alarms: (readonly [string, string | undefined])[] = [];
  readonly warnings: string[] = [];
  /** Reasons that were logged as outputs followed other slots. */
  readonly follows: unknown[] = [];
  locked = false;
  /** What the outputs know of rules as they begin. */
  rules: ReadonlyMap<string, readonly RuleWords[]> = new Map();
  readonly events: RuleEvent[] = [];
  /** Beside the events. */
  onRule: (event: RuleEvent, instead?: Sentence) => void = () => {};
  #control: ActuatorControl | undefined;

  get control(): ActuatorControl {
    if (this.#control === undefined) throw new Error('open() first');
    return this.#control;
  }

  /** Returns the marks in the run folder for the next process. */
  get marks(): readonly string[] {
    return this.files.paths
      .filter((path) => path.startsWith('/run/pulses/'))
      .map((path) => path.slice('/run/pulses/'.length));
  }

  get log(): Log {
    const note = (_fields: object, message: string): void => void this.warnings.push(message);
    const follow = (fields: object): void => void this.follows.push('why' in fields ? fields.why : undefined);
    return { debug: () => {}, info: follow, warn: note, error: note };
  }

  /** Also after a kill: nothing of the process before is closed, but its timers and the hardware it holds are no longer looked at. */
  async open(...settings: readonly ActuatorSettings[]): Promise<ActuatorControl> {
    const { clock, files, log } = this;
    const ownSupply = settings.filter((each) => each.ownSupply).map(({ name }) => name);
    const file = new StateFile({ ...OUTPUTS_FORMAT, path: '/state/outputs.json', files, clock, log });
    const opening = ActuatorControl.open(
      {
        actuators: settings.map((each) => ({ settings: each, driver: this.driver(each.name) })),
        memory: new ActuatorMemory({
          outputs: await OutputFile.open(file, clock),
          keptPulses: await KeptPulses.open(
            new StateFile({ ...KEPT_PULSES_FORMAT, path: '/state/pulses.json', files, clock, log }),
            clock,
            ownSupply,
          ),
          pulseMarks: await PulseMarks.open('/run', log, { files, bootId: clock.bootId }),
        }),
        locked: () => this.locked,
        rules: this.rules,
        onRule: (event, instead) => {
          const { told: _told, ...edge } = event;
          this.events.push(edge);
          this.onRule(event, instead);
        },
        clock,
        log,
        onAlarm: (actuator, told) => this.alarms.push([actuator, told && english(told)]),
      },
      never,
    );
    await clock.advance(0);
    this.#control = await opening;
    return this.#control;
  }

  driver(name: string): ActuatorDriver {
    const driver = this.drivers[name] ?? new FakeActuator();
    this.drivers[name] = driver;
    return driver;
  }

  fake(name: string): FakeActuator {
    const driver = this.driver(name);
    if (driver instanceof FakeActuator) return driver;
    throw new Error(`${name} is no FakeActuator`);
  }

  /** A fake whose hardware cannot be asked. */
  deaf(name: string): FakeActuator {
    const driver = new FakeActuator();
    (driver as { read: unknown }).read = undefined;
    this.drivers[name] = driver;
    return driver;
  }

  set(
    name: string,
    value: ActuatorValue,
    options: { readonly by?: 'rpc' | 'local' | 'rule'; readonly signal?: AbortSignal } = {},
  ): Promise<unknown> {
    return codeOf(this.control.set(name, value, { by: options.by ?? 'rpc' }, options.signal ?? never));
  }

  pulse(name: string, durationMs: number): Promise<unknown> {
    return codeOf(this.control.pulse(name, { durationMs, by: 'rpc' }, never));
  }
}

/** "moved", or the code of the refusal. */
export function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'moved',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );
}

/** Hardware that takes its time, and may not listen when it is told to stop. */
export class SlowActuator implements ActuatorDriver {
  shown: ActuatorValue = false;
  readonly told: ActuatorValue[] = [];
  readonly #clock: FakeClock;
  readonly #takesMs: (value: ActuatorValue) => number;
  readonly #listens: boolean;

  constructor(
    clock: FakeClock,
    options: { readonly takesMs: (value: ActuatorValue) => number; readonly listens?: boolean },
  ) {
    this.#clock = clock;
    this.#takesMs = options.takesMs;
    this.#listens = options.listens ?? false;
  }

  write(value: ActuatorValue, signal: AbortSignal): Promise<void> {
    this.told.push(value);
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(this.#takesMs(value), () => {
        this.shown = value;
        resolve();
      });
      const stop = (): void => {
        cancel();
        reject(new Error('stopped'));
      };
      if (this.#listens && signal.aborted) stop();
      else if (this.#listens) signal.addEventListener('abort', stop, { once: true });
    });
  }

  async close(): Promise<void> {}
}
