/** People who command: RPC at random times, and the answer to each. */

import { RawReply } from '../../src/stand-ins/local-platform/payload.ts';
import { isJsonObject, type JsonObject, type JsonValue, stringifyJson } from '../../src/values/json.ts';
import { AttachedPeople } from './attached-people.ts';
import type { Chance } from './chance.ts';
import { type Claim, openAndUse } from './claims.ts';
import { MOTORS } from './equipment.ts';
import type { World } from './world.ts';

export interface Command {
  readonly atMs: number;
  readonly method: string;
  readonly params: JsonObject;
  readonly oneway: boolean;
  /** Undefined: nobody answered in time. */
  answer?: JsonValue | undefined;
  answeredAtMs?: number;
}

/** Value that the platform was told to hold for an actuator; undefined when it was taken back. */
export interface Wish {
  readonly atMs: number;
  readonly name: string;
  readonly value: JsonValue | undefined;
  /** Made to see whether everything works again. */
  readonly isProbe: boolean;
  /** Hindrance that stood in its way for some seconds. */
  readonly under?: 'key switch' | 'hung pins' | 'failing disk' | undefined;
  /** Why it was not done, as the platform was told soon after. */
  told?: JsonValue | undefined;
}

/** Setting that holds so long after it was set. */
interface SettingProbe {
  readonly due: readonly { readonly afterMs: number; readonly value: JsonValue | undefined }[];
}

const TIMEOUT_MS = 20_000;
/** When no poll stands somebody who looks waits for one, a second at most. */
const LOOK_AGAIN_MS = 50;
const POLL_WITHIN_TRIES = 20;
/** From a wish until the platform knows why it is not done. */
const TOLD_WITHIN_MS = 15_000;
/** As long after a wish, if it stays. */
const LAST_TOLD_MS = 180_000;

interface Deed {
  readonly name: string;
  /** How often, beside the others. */
  readonly weight: number;
  readonly do: (people: People, chance: Chance) => void;
}

export const DEEDS: readonly Deed[] = [
  {
    name: 'motor',
    weight: 2,
    do: (people, chance) =>
      people.command(chance, 'setActuator', { name: chance.pick([...MOTORS]), value: chance.happens(0.6) }),
  },
  {
    name: 'heater',
    weight: 1,
    do: (people, chance) => people.command(chance, 'setActuator', { name: 'heater', value: chance.happens(0.7) }),
  },
  {
    name: 'pulse',
    weight: 1,
    do: (people, chance) => people.pulse(chance),
  },
  { name: 'toggle', weight: 2, do: (people, chance) => people.command(chance, 'toggle', { name: 'bell' }) },
  { name: 'vent', weight: 1, do: (people, chance) => people.setIfThere(chance, 'vent') },
  { name: 'siren', weight: 1, do: (people, chance) => people.setIfThere(chance, 'siren') },
  { name: 'pump', weight: 1, do: (people, chance) => people.setIfThere(chance, 'pump') },
  { name: 'lamp', weight: 1, do: (people, chance) => people.wish(chance, 'lamp') },
  { name: 'kept command', weight: 1, do: (people, chance) => people.commandPersistently(chance) },
  // Somebody pastes what is in the clipboard.
  { name: 'slip', weight: 1, do: (people, chance) => people.command(chance, people.world.story.secret, {}) },
  { name: 'question', weight: 1, do: (people, chance) => people.command(chance, chance.pick(QUESTIONS), {}) },
];
/** Each comes in some worlds only, and is drawn by itself. */
export const RARE_DEEDS: readonly Deed[] = [{ name: 'claim', weight: 1, do: (people) => people.claim() }];
/** Methods that move nothing, or that the agent does not know. */
const QUESTIONS = ['ping', 'getStatus', 'getSensors', 'makeCoffee', ''] as const;
/** Each is planned apart, in worlds that have such devices. */
export const ATTACHED_COMMAND = 'attached command';
const ATTACHED_DEEDS: readonly Deed[] = [
  { name: ATTACHED_COMMAND, weight: 0, do: (people, chance) => people.attached.command(chance) },
];

export class People {
  readonly world: World;
  readonly commands: Command[] = [];
  /** Given when all is calm again: they are answered, whatever was before. */
  readonly probes: Command[] = [];
  readonly wishes: Wish[] = [];
  readonly claims: Claim[] = [];
  readonly attached: AttachedPeople;
  /** Settings at the platform some time after somebody had changed them. */
  readonly settings: {
    readonly atMs: number;
    readonly key: string;
    readonly due: JsonValue | undefined;
    readonly found: JsonValue | undefined;
  }[] = [];
  /** Reports at the platform of wishes that are not done, when the first probe was made. */
  refusedBeforeProbes: JsonObject = {};

  constructor(world: World) {
    this.world = world;
    this.attached = new AttachedPeople(world);
  }

  do(name: string, chance: Chance): void {
    // A device that is not at the platform yet is nobody's to ask.
    if (!this.world.identity.wasThere) return;
    const deed = [...DEEDS, ...RARE_DEEDS, ...ATTACHED_DEEDS].find((one) => one.name === name);
    if (deed === undefined) throw new Error(`nobody knows how to ${name}`);
    deed.do(this, chance);
  }

  claim(): void {
    const { world } = this;
    world.story.tell('somebody opens a claim');
    void openAndUse(world).then(
      (claim) => {
        this.claims.push(claim);
        world.story.tell(`a customer tries the secret: ${claim.answer}`);
      },
      (error: Error) => world.story.tell(`there is no claim: ${error.message}`),
    );
  }

  /** The platform keeps it, and gives it again after its own restart, until it is answered or too late. */
  commandPersistently(chance: Chance): void {
    const { world } = this;
    const set = { name: chance.pick([...MOTORS]), value: chance.happens(0.6) };
    const oneway = chance.happens(0.3);
    const [method, params]: readonly [string, JsonObject] = chance.happens(0.5)
      ? ['toggle', { name: 'bell' }]
      : ['setActuator', set];
    this.commands.push({ atMs: world.timeline.nowMs, method, params, oneway });
    world.story.tell(`somebody asks for ${method} ${stringifyJson(params)}, to be kept${oneway ? ', one-way' : ''}`);
    world.platform.rpc.callPersistently(world.deviceId, { method, params, oneway, timeoutMs: TIMEOUT_MS });
  }

  pulse(chance: Chance): void {
    const durationMs = chance.between(500, 10_000);
    const isLong = this.#has('gate') && chance.happens(0.5);
    this.command(chance, 'pulse', isLong ? { name: 'gate', durationMs: 4 * durationMs } : { name: 'flap', durationMs });
  }

  setIfThere(chance: Chance, name: string): void {
    if (this.#has(name)) this.command(chance, 'setActuator', { name, value: chance.happens(0.5) });
  }

  /** A shared attribute is set, or taken back. */
  wish(chance: Chance, name: string): void {
    const { world } = this;
    if (!this.#has(name)) return;
    const value = chance.pick([true, false, true, false, undefined, 'bright']);
    this.wishes.push({ atMs: world.timeline.nowMs, name, value, isProbe: false });
    world.story.tell(
      `somebody ${value === undefined ? 'takes back the wish for' : `wishes ${stringifyJson(value)} for`} ${name}`,
    );
    if (value === undefined) world.platform.state.removeAttributes(world.deviceId, 'SHARED_SCOPE', [name]);
    else world.platform.state.setAttributes(world.deviceId, 'SHARED_SCOPE', { [name]: value });
  }

  /** Somebody looks whether wishes are done again: not in the moment between two polls, of which the platform tells nobody. */
  probeWish(name: string, value: boolean, under?: Wish['under']): void {
    if (this.#has(name)) this.#whilePolled(() => this.#probeWish(name, value, under));
  }

  /** Somebody changes a setting, or takes it back, and looks for how long it holds. */
  probeSetting(key: string, value: string | undefined, due: SettingProbe['due']): void {
    this.#whilePolled(() => {
      const { world } = this;
      world.story.tell(value === undefined ? `somebody takes ${key} back` : `somebody sets ${key} to ${value}`);
      if (value === undefined) world.platform.state.removeAttributes(world.deviceId, 'SHARED_SCOPE', [key]);
      else world.platform.state.setAttributes(world.deviceId, 'SHARED_SCOPE', { [key]: value });
      for (const { afterMs, value: dueValue } of due) {
        world.timeline.after(afterMs, () => {
          const atMs = world.timeline.nowMs;
          const [found] = world.platform.state.attributes.read(world.deviceId, 'CLIENT_SCOPE', ['effectiveSettings']);
          const effective = isJsonObject(found?.value) ? found.value : { [key]: 'not told' };
          this.settings.push({ atMs, key, due: dueValue, found: effective[key] });
        });
      }
    });
  }

  #whilePolled(act: () => void, tries = POLL_WITHIN_TRIES): void {
    const { platform, timeline, deviceId } = this.world;
    if (tries > 0 && platform.attributePolls.waiting(deviceId) === 0)
      timeline.after(LOOK_AGAIN_MS, () => this.#whilePolled(act, tries - 1));
    else act();
  }

  #probeWish(name: string, value: boolean, under: Wish['under']): void {
    const { world, wishes } = this;
    const { state } = world.platform;
    if (!wishes.some(({ isProbe }) => isProbe)) this.refusedBeforeProbes = this.#refused();
    const wish: Wish = { atMs: world.timeline.nowMs, name, value, isProbe: true, under };
    wishes.push(wish);
    const toldMs = under === 'failing disk' ? LAST_TOLD_MS : TOLD_WITHIN_MS;
    if (under !== undefined) world.timeline.after(toldMs, () => (wish.told = this.#refused()[name]));
    world.story.tell(`somebody wishes ${value} for ${name}`);
    state.setAttributes(world.deviceId, 'SHARED_SCOPE', { [name]: value });
  }

  #refused(): JsonObject {
    const { platform, deviceId } = this.world;
    const [refused] = platform.state.attributes
      .read(deviceId, 'CLIENT_SCOPE', ['sharedRefused'])
      .map(({ value }) => value);
    return isJsonObject(refused) ? refused : {};
  }

  #has(name: string): boolean {
    return this.world.site.outputs.some((output) => output.name === name);
  }

  command(chance: Chance, method: string, params: JsonObject): void {
    this.#give(method, params, chance.happens(0.3));
  }

  /** Somebody looks whether everything works again. */
  probe(method: string, params: JsonObject): void {
    this.probes.push(this.#give(method, params, false));
  }

  #give(method: string, params: JsonObject, oneway: boolean): Command {
    const { world } = this;
    const command: Command = { atMs: world.timeline.nowMs, method, params, oneway };
    this.commands.push(command);
    world.story.tell(`somebody asks for ${method} ${stringifyJson(params)}${oneway ? ', one-way' : ''}`);
    const call = { method, params, oneway, timeoutMs: TIMEOUT_MS };
    void world.platform.rpc.call(world.deviceId, call).then((answer) => {
      command.answer = answer instanceof RawReply ? answer.text : answer;
      command.answeredAtMs = world.timeline.nowMs;
      world.story.tell(
        `answer to ${method}: ${answer === undefined ? 'none in time' : stringifyJson(command.answer ?? null)}`,
      );
    });
    return command;
  }
}
