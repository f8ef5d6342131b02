/**
 * One gateway in virtual time, on a disk in memory: the agent's and root's own parts of a configuration from afar, the modelled guard, a model of
 * the agent around them and of the service manager. Operators send, somebody edits on site, processes are killed and the power goes.
 *
 *   operators ─► agent (take, judge) ─► request ─► root (configure, settle) ─► file in place ─► agent ─► platform hears it, or not
 */

import { dirname } from 'node:path';
import type { FileConfig } from '../../../src/config/config-file.ts';
import { ConfigError } from '../../../src/config/fields/config-fault.ts';
import type { ReadConfig } from '../../../src/config/read-config.ts';
import { messageOf } from '../../../src/errors/agent-error.ts';
import { REQUEST_NAME, releasePaths } from '../../../src/firmware/guard-state.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import { fileHash } from '../../../src/remote-config/file-hash.ts';
import type { ConfigurationState } from '../../../src/remote-config/remote-config.ts';
import { CANDIDATE_NAME, readConfigurationResult, trialPaths } from '../../../src/remote-config/trial-state.ts';
import type { GuardTurn } from '../../support/config-trial-table.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { takeGuardTurn } from '../../support/guard-on-files.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { mulberry32 } from '../../support/random-bytes.ts';
import { answerConfigurationRequest } from '../../support/root-configuration.ts';
import { AgentModel, EXIT_CONFIG } from './agent-model.ts';
import { CONFIG_FILE, type Ground } from './ground.ts';
import { inLife, Life, livingFiles, type Steps } from './living-files.ts';
import { drawMutation, type Mutation } from './mutations.ts';

export const PATHS = releasePaths();
const TRIAL_PATHS = trialPaths(PATHS.guard);
const REQUEST = `${PATHS.firmware}/${REQUEST_NAME}`;
const CANDIDATE = `${PATHS.firmware}/${CANDIDATE_NAME}`;
/** Name under which a file of the site lies that the agent refuses. */
const REFUSED = `${CONFIG_FILE}.refused`;
const SITE_EDIT = '\n# looked at on site\n';
const never = new AbortController().signal;

const HELPER_STARTS_MS = 300;
const RESTART_MS = 3_000;
const POWER_OFF_MS = 20_000;
/** The platform has to hear the gateway again within this time after the last trial. */
const BACK_WITHIN_S = 300;
/** Beyond the longest trial: an answer that does not come, and a settlement that is asked for again. */
const PATIENCE_S = 400;
const QUIET_STEP_S = 5;
/** Changes of the disk from the first request to the end of its trial. */
const STEPS_OF_TRIAL = 150;
const DISKS_MS = [0, 3, 30, 150];

export type Fate = 'kept' | 'refused' | 'returned' | 'replaced' | 'unanswered';

export interface Sent {
  readonly name: string;
  readonly fate: Fate;
  readonly reason: string;
}

export interface Lived {
  readonly seed: number;
  readonly sent: readonly Sent[];
  /** `kill agent`, `power`, … where a blow fell. */
  readonly blow: string | undefined;
  readonly wasEdited: boolean;
  /** Words for what is wrong. */
  readonly lockedOut: string | undefined;
  /** A person on site has edited the file that was on trial, and kept what does not reach the platform. */
  readonly heldOnSite: boolean;
  readonly lost: string | undefined;
  readonly stuck: string | undefined;
  /** Faults with which processes of root ended. */
  readonly faults: readonly string[];
  /** What happened, in order, with the seconds of the world. */
  readonly story: readonly string[];
}

/** What no trial can mend, and what is left out of a usual run. */
export interface WorldOptions {
  /** False: the output of the router has no state for the start. */
  readonly hasSafeStart: boolean;
  /** True: some rules switch the router off after their file was kept. */
  readonly hasLateRules: boolean;
}

interface Sending {
  readonly mutation: Mutation;
  id?: string;
  hash?: string;
  refusal?: string;
}

interface Blow {
  readonly kind: 'kill' | 'power';
  readonly step: number;
  readonly when: 'before' | 'after';
}

interface Event {
  readonly atS: number;
  readonly act: () => Promise<void>;
}

export class World {
  readonly ground: Ground;
  readonly clock = new FakeClock();
  readonly memory = new MemoryFiles({ memoryFolders: ['/run'], keepsChanges: false });
  /** The relay of the router is on where nobody says anything. */
  isRouterOn = true;
  /** Hashes of files on which the agent crashes. */
  readonly crashing = new Set<string>();
  readonly #vanishing = new Set<string>();
  readonly #seed: number;
  readonly #hasLateRules: boolean;
  readonly #random: () => number;
  readonly #base: string;
  readonly #trialS: number;
  readonly #diskMs: number;
  readonly #blow: Blow | undefined;
  readonly #editAtStep: number | undefined;
  readonly #hasEdit: boolean;
  readonly #read = new Set<string>();
  /** The file that each one was made from. */
  readonly #madeFrom = new Map<string, string>();
  readonly #sendings: Sending[] = [];
  readonly #results = new Map<string, { readonly outcome: string; readonly hash: string; readonly reason: string }>();
  readonly #root = new Set<Life>();
  readonly #faults: string[] = [];
  readonly #story: string[] = [];
  readonly #beganAtMs: number;
  #agent: AgentModel | undefined;
  #jobs = Promise.resolve();
  #jobsLeft = 0;
  #boot = 1;
  #isDown = false;
  #isHelping = false;
  #stepsDone = 0;
  #isArmed = false;
  #fallen: string | undefined;
  #edited: string | undefined;
  #editedFrom: string | undefined;
  #cancelTimer = (): void => {};
  #ids = 0;
  #heardAtMs = Number.NEGATIVE_INFINITY;

  constructor(seed: number, ground: Ground, options: WorldOptions) {
    this.#seed = seed;
    this.#beganAtMs = this.clock.wallMs();
    this.ground = ground;
    this.#hasLateRules = options.hasLateRules;
    const random = mulberry32(seed);
    // Neighbouring seeds begin alike.
    for (let thrown = 0; thrown < 8; thrown += 1) random();
    this.#random = random;
    const allow = [
      ...(random() < 0.5 ? (['platform'] as const) : []),
      ...(random() < 0.4 ? (['outputs'] as const) : []),
    ];
    this.#trialS = random() < 0.8 ? 60 : 300;
    this.#base = ground.base({ allow, trial: `${this.#trialS}s`, hasSafeStart: options.hasSafeStart });
    this.#diskMs = DISKS_MS[this.#number(0, DISKS_MS.length - 1)] as number;
    this.#blow =
      random() < 0.4
        ? {
            kind: random() < 0.5 ? 'kill' : 'power',
            step: this.#number(1, STEPS_OF_TRIAL),
            when: random() < 0.5 ? 'before' : 'after',
          }
        : undefined;
    this.#hasEdit = random() < 0.15;
    this.#editAtStep = this.#hasEdit && random() < 0.5 ? this.#number(1, STEPS_OF_TRIAL) : undefined;
    this.#madeFrom.set(fileHash(Buffer.from(this.#base)), '');
  }

  async live(): Promise<Lived> {
    this.memory.put(CONFIG_FILE, this.#base);
    for (const folder of [PATHS.firmware, PATHS.guard, '/etc/turnstone']) await this.memory.makeFolder(folder);
    await this.#readBeforehand(Buffer.from(this.#base));
    this.#enqueue(() => this.#start());
    const beginsS = this.#number(40, 100);
    for (let second = 0; second < beginsS; second += QUIET_STEP_S) await this.#pass(QUIET_STEP_S);
    this.#isArmed = true;
    const events = this.#events();
    const limitS = Math.max(...events.map(({ atS }) => atS)) + this.#trialS + PATIENCE_S;
    let second = 0;
    for (; second < limitS; second += 1) {
      for (const { act } of events.filter(({ atS }) => atS === second)) await act();
      await this.#pass(1);
      if (events.every(({ atS }) => atS < second) && this.#isQuiet()) break;
    }
    const stuck = second < limitS ? undefined : 'a trial, or the agent, waits without an end';
    const endedAtMs = this.clock.wallMs();
    for (let passed = 0; passed < BACK_WITHIN_S; passed += QUIET_STEP_S) await this.#pass(QUIET_STEP_S);
    const unheard = this.#heardAtMs > endedAtMs ? undefined : this.#whyUnheard();
    const heldOnSite = unheard !== undefined && this.#isEditOfTrial();
    const lived: Lived = {
      seed: this.#seed,
      sent: this.#sendings.map((sending) => this.#fateOf(sending)),
      blow: this.#fallen,
      wasEdited: this.#edited !== undefined,
      lockedOut: heldOnSite ? undefined : unheard,
      heldOnSite,
      lost: this.#lost(),
      stuck,
      faults: this.#faults,
      story: this.#story,
    };
    this.#agent?.end();
    for (const life of this.#root) life.end();
    this.ground.forget(this.#read);
    return lived;
  }

  // The agent's side.

  readonly steps: Steps = {
    before: (life) => {
      if (this.#isArmed) this.#stepsDone += 1;
      this.#strike(life, 'before');
    },
    after: async (life) => {
      this.#strike(life, 'after');
      if (this.#root.has(life) && this.#diskMs > 0)
        await this.clock.sleep(Math.ceil(this.#diskMs * this.#random()), never);
      if (this.#isArmed && this.#editAtStep === this.#stepsDone && this.#edited === undefined) await this.#edit();
    },
  };

  newId(): string {
    this.#ids += 1;
    return `id-${this.#ids}`;
  }

  tell({ state, reason = '' }: ConfigurationState): void {
    this.#note(`the agent tells ${state} ${reason}`);
  }

  hear(): void {
    this.#heardAtMs = this.clock.wallMs();
  }

  async check(bytes: Uint8Array): Promise<ReadConfig> {
    await this.#readBeforehand(bytes);
    return this.ground.read(bytes);
  }

  /** The file in place, as the agent's start reads it. */
  async load(): Promise<FileConfig & { readonly missing: FileConfig['missing'] }> {
    const bytes = this.memory.contentOf(CONFIG_FILE);
    const read = await this.ground.read(bytes);
    this.#read.add(fileHash(bytes));
    const { config, meanwhile = config, faults, warnings, written, fileHash: hash } = read;
    if (meanwhile === undefined) throw new ConfigError(CONFIG_FILE, faults);
    if (this.#vanishing.has(fileHash(bytes)))
      throw new ConfigError(CONFIG_FILE, [
        { path: 'platform.caFile', line: 1, column: 1, problem: 'cannot be read', expected: 'a file' },
      ]);
    return { config: meanwhile, missing: faults, warnings, written, fileHash: hash };
  }

  /** An agent ended by itself, or was killed. */
  ended(agent: AgentModel, status: number): void {
    if (this.#agent !== agent) return;
    agent.end();
    this.#agent = undefined;
    this.#enqueue(() => this.#stopped(status));
  }

  // Operators and people on site.

  #events(): readonly Event[] {
    const send = (): Promise<void> => this.#send();
    const events: Event[] = [{ atS: 0, act: send }];
    if (this.#random() < 0.3) events.push({ atS: this.#number(0, this.#trialS + 60), act: send });
    if (this.#hasEdit && this.#editAtStep === undefined)
      events.push({ atS: this.#number(0, this.#trialS + 10), act: () => this.#edit() });
    return events;
  }

  async #send(): Promise<void> {
    const inPlace = this.memory.contentOf(CONFIG_FILE);
    const mutation = drawMutation(this.#random, inPlace, { ground: this.ground, hasLateRules: this.#hasLateRules });
    const sending: Sending = { mutation };
    this.#sendings.push(sending);
    const { wanted } = mutation;
    const what = 'file' in wanted ? `a file of ${wanted.file.length} bytes` : JSON.stringify(wanted.patch);
    this.#note(`sent: ${mutation.name}, ${what}`);
    const agent = this.#agent;
    if (agent === undefined) return;
    const ids = this.#ids;
    const taking = agent.remote.take(wanted, 'patch' in wanted ? 'patch' : 'package');
    const taken = await Promise.race([taking, agent.life.over]);
    if (this.#ids > ids) sending.id = `id-${this.#ids}`;
    // A kill came in the midst of it: root may have been asked all the same.
    const candidate = this.memory.isThereNow(CANDIDATE) ? this.memory.contentOf(CANDIDATE) : undefined;
    const hash = taken?.hash ?? (sending.id === undefined || candidate === undefined ? undefined : fileHash(candidate));
    if (hash === undefined) {
      sending.refusal = taken?.reason ?? '';
      return;
    }
    sending.hash = hash;
    if (taken?.state === 'refused') sending.refusal = taken.reason ?? '';
    else this.#madeFrom.set(hash, fileHash(inPlace));
    if (mutation.effect === 'crashes') this.crashing.add(hash);
    if (mutation.effect === 'vanishes') this.#vanishing.add(hash);
    if (mutation.effect === 'forged' && taken?.state === 'received')
      this.memory.put(CANDIDATE, `${this.#base}# forged\n`);
  }

  /** Somebody on site adds a line to the file, whatever it is now, and has it taken up. */
  async #edit(): Promise<void> {
    this.#edited = '';
    // An editor syncs the folder: a rename that waited for it cannot come after the edit.
    await this.memory.syncFolder(dirname(CONFIG_FILE));
    this.#editedFrom = fileHash(this.memory.contentOf(CONFIG_FILE));
    const edited = Buffer.concat([this.memory.contentOf(CONFIG_FILE), Buffer.from(SITE_EDIT)]);
    this.memory.put(CONFIG_FILE, edited);
    this.#edited = fileHash(edited);
    this.#note(`an edit on site at step ${this.#stepsDone}`);
    this.#enqueue(() => this.#reload());
  }

  // The machine.

  async #pass(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1_000);
    if (this.#isDown) this.#powerReturns();
    await this.#noteResult();
    this.#help();
  }

  #isQuiet(): boolean {
    return (
      this.#jobsLeft === 0 &&
      !this.#isHelping &&
      this.#agent !== undefined &&
      !this.#agent.remote.isOn &&
      !this.memory.isThereNow(REQUEST) &&
      !this.memory.isThereNow(TRIAL_PATHS.state)
    );
  }

  #strike(life: Life, when: Blow['when']): void {
    const blow = this.#blow;
    if (!this.#isArmed || this.#fallen !== undefined || life.isOver || blow === undefined) return;
    if (blow.when !== when || blow.step !== this.#stepsDone) return;
    if (blow.kind === 'power') {
      this.#fallen = 'power';
      this.#note(`the power goes at step ${this.#stepsDone}, in ${life.name}`);
      this.#powerGoes();
      return;
    }
    this.#fallen = `kill ${life.name}`;
    this.#note(`${this.#fallen} at step ${this.#stepsDone}`);
    if (this.#agent?.life === life) this.ended(this.#agent, 137);
    else life.end();
  }

  #powerGoes(): void {
    this.#isDown = true;
    this.#boot += 1;
    this.#agent?.end();
    this.#agent = undefined;
    for (const life of this.#root) life.end();
    this.#root.clear();
    this.#jobs = Promise.resolve();
    this.#jobsLeft = 0;
    this.#isHelping = false;
    this.#cancelTimer();
    this.memory.cutPower(() => this.#random() < 0.5);
  }

  #powerReturns(): void {
    this.#isDown = false;
    this.#note('the power returns');
    this.clock.reboot({ bootId: `boot-${this.#boot}`, wallMs: this.clock.wallMs() + POWER_OFF_MS });
    this.isRouterOn = true;
    this.#enqueue(() => this.#start());
  }

  /** Jobs of the service manager, one after the other; those of an earlier boot are gone. */
  #enqueue(job: () => Promise<void>): void {
    if (this.#isDown) return;
    const boot = this.#boot;
    this.#jobsLeft += 1;
    this.#jobs = this.#jobs.then(async () => {
      if (boot !== this.#boot) return;
      await job();
      if (boot === this.#boot) this.#jobsLeft -= 1;
    });
  }

  async #start(): Promise<void> {
    const boot = this.#boot;
    if (this.#agent !== undefined) return;
    await this.#guard('starting');
    if (boot !== this.#boot) return;
    const started = await AgentModel.start(this);
    if (boot !== this.#boot) return;
    if (typeof started === 'number') await this.#stopped(started);
    else this.#agent = started;
    this.#note(typeof started === 'number' ? `the agent ends with ${started}` : 'the agent has started');
  }

  async #stopped(status: number): Promise<void> {
    const boot = this.#boot;
    await this.#guard('stopped', status);
    if (boot !== this.#boot || status === EXIT_CONFIG) return;
    this.clock.after(RESTART_MS, () => this.#enqueue(() => this.#start()));
  }

  async #restart(): Promise<void> {
    const boot = this.#boot;
    if (this.#agent !== undefined) {
      this.#agent.end();
      this.#agent = undefined;
      await this.#guard('stopped', 0);
    }
    if (boot === this.#boot) await this.#start();
  }

  async #reload(): Promise<void> {
    const agent = this.#agent;
    if (agent !== undefined) await Promise.race([agent.reload(), agent.life.over]);
  }

  async #guard(turn: GuardTurn, exitStatus?: number): Promise<void> {
    await this.#asRoot('guard', (life) =>
      takeGuardTurn(
        {
          files: updateFiles(livingFiles(this.memory, life, this.steps)),
          guardFolder: PATHS.guard,
          file: CONFIG_FILE,
          bootId: this.clock.bootId,
          wallMs: () => this.clock.wallMs(),
          renew: (how) =>
            this.#enqueue(async () =>
              how === 'restart' || this.#agent !== undefined ? await this.#restart() : undefined,
            ),
          stopTimer: () => this.#cancelTimer(),
        },
        turn,
        exitStatus,
      ),
    );
  }

  /** The path unit starts the helper while a request lies there. */
  #help(): void {
    if (this.#isDown || this.#isHelping || !this.memory.isThereNow(REQUEST)) return;
    const boot = this.#boot;
    this.#isHelping = true;
    void this.#asRoot('helper', async (life) => {
      await this.clock.sleep(HELPER_STARTS_MS, never);
      await this.#answer(life);
    }).then(() => {
      if (boot === this.#boot) this.#isHelping = false;
    });
  }

  async #answer(life: Life): Promise<void> {
    const { clock, memory, steps } = this;
    const act = (what: () => void): Promise<void> => inLife(life, steps, async () => what());
    await answerConfigurationRequest({
      disk: memory,
      seen: livingFiles(memory, life, steps),
      file: CONFIG_FILE,
      startTimer: (seconds) =>
        act(() => {
          this.#cancelTimer();
          this.#note(`the timer starts at step ${this.#stepsDone}`);
          this.#cancelTimer = clock.after(seconds * 1_000, () => {
            if (!this.#isDown) void this.#guard('trial-over');
          });
        }),
      stopTimer: () => act(() => this.#cancelTimer()),
      renewAgent: (how) =>
        act(() => {
          this.#note(`root has the agent ${how}`);
          this.#enqueue(() => (how === 'reload' ? this.#reload() : this.#restart()));
        }),
      clock,
    });
  }

  /** Runs a process of root's until it is done, or ended. */
  async #asRoot(name: string, act: (life: Life) => Promise<void>): Promise<void> {
    const life = new Life(name);
    this.#root.add(life);
    // A process that ends with a fault ends: the service manager goes on.
    const acting = act(life).catch((error: unknown) => {
      this.#faults.push(`${name}: ${messageOf(error)}`);
    });
    await Promise.race([acting, life.over]);
    this.#root.delete(life);
  }

  // Judging.

  async #noteResult(): Promise<void> {
    const result = await readConfigurationResult(updateFiles(this.memory), TRIAL_PATHS);
    if (result === undefined) return;
    const { id, outcome, reason } = result;
    if (this.#results.get(id)?.outcome !== outcome) this.#note(`root says ${id} ${outcome} ${reason}`);
    this.#results.set(id, result);
  }

  #fateOf({ mutation: { name }, id, hash, refusal }: Sending): Sent {
    if (refusal !== undefined) return { name, fate: 'refused', reason: refusal };
    const result = id === undefined ? undefined : this.#results.get(id);
    const { outcome, reason = '' } = result ?? {};
    if (outcome === 'refused' || outcome === 'returned') return { name, fate: outcome, reason };
    if (outcome === 'kept') return { name, fate: result?.hash === hash ? 'kept' : 'replaced', reason };
    return { name, fate: 'unanswered', reason };
  }

  #lost(): string | undefined {
    if (!this.memory.isThereNow(CONFIG_FILE)) return 'there is no file in place';
    const hash = fileHash(this.memory.contentOf(CONFIG_FILE));
    if (hash !== this.#edited && !this.#madeFrom.has(hash)) return 'the file in place is none of those that were whole';
    const returned = this.#sendings.find((one) => one.hash === hash && this.#fateOf(one).fate === 'returned');
    if (returned !== undefined) return 'the file in place is one that was returned';
    if (this.#edited === undefined) return undefined;
    for (let at: string | undefined = hash; at !== undefined; at = this.#madeFrom.get(at))
      if (at === this.#edited) return undefined;
    // An edit that the agent cannot take lies beside the file.
    if (this.memory.isThereNow(REFUSED) && fileHash(this.memory.contentOf(REFUSED)) === this.#edited) return undefined;
    return 'the edit on site is gone';
  }

  /** True when the file in place is an edit of one that was on trial at that time. */
  #isEditOfTrial(): boolean {
    const sending = this.#sendings.find(({ hash }) => hash !== undefined && hash === this.#editedFrom);
    const isInPlace = fileHash(this.memory.contentOf(CONFIG_FILE)) === this.#edited;
    return isInPlace && sending !== undefined && this.#fateOf(sending).fate === 'replaced';
  }

  #whyUnheard(): string {
    if (this.#agent === undefined) return 'the agent does not run';
    return this.isRouterOn ? 'the agent does not reach the platform' : 'the router is off';
  }

  /** Virtual time stands still for a file that is read: it is read once, before anybody needs it. */
  async #readBeforehand(bytes: Uint8Array): Promise<void> {
    const all = [bytes, ...(this.#hasEdit ? [Buffer.concat([bytes, Buffer.from(SITE_EDIT)])] : [])];
    for (const one of all) {
      this.#read.add(fileHash(one));
      await this.ground.read(one);
    }
  }

  #note(words: string): void {
    this.#story.push(`${((this.clock.wallMs() - this.#beganAtMs) / 1_000).toFixed(3)} s: ${words.trimEnd()}`);
  }

  #number(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1));
  }
}
