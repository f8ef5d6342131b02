/** People who command attached devices, and now and then one device for another's relay, which is to stay as it is. */

import { RawReply } from '../../src/stand-ins/local-platform/payload.ts';
import type { JsonValue } from '../../src/values/json.ts';
import { stringifyJson } from '../../src/values/json.ts';
import type { AttachedSlot } from './attached-devices.ts';
import type { Chance } from './chance.ts';
import type { World } from './world.ts';

export interface AttachedCommand {
  readonly atMs: number;
  /** Slot of the device that it was given to; undefined: the gateway. */
  readonly to: string | undefined;
  readonly relay: string;
  readonly value: boolean;
  readonly isItsOwn: boolean;
  readonly isProbe: boolean;
  /** Undefined: nobody answered in time. */
  answer?: JsonValue | undefined;
}

const TIMEOUT_MS = 20_000;
/** Polls beyond the cap take turns. */
const PROBE_TIMEOUT_MS = 60_000;
const PROBES = [
  { value: true, beforeEndMs: 15 * 60_000 },
  { value: false, beforeEndMs: 13 * 60_000 },
] as const;
const RIGHT_SHARE = 0.6;
const WISH_SHARE = 0.3;

export class AttachedPeople {
  readonly commands: AttachedCommand[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  command(chance: Chance): void {
    const { attached } = this.#world.site;
    const withRelay = attached.filter(({ relay }) => relay !== undefined);
    if (withRelay.length === 0) return;
    const owner = chance.pick(withRelay);
    const others: readonly (AttachedSlot | undefined)[] = [undefined, ...attached.filter((one) => one !== owner)];
    const isRight = chance.happens(RIGHT_SHARE);
    const to = isRight ? owner : chance.pick(others);
    const value = chance.happens(RIGHT_SHARE);
    if (!isRight && chance.happens(WISH_SHARE)) this.#wish(to, owner);
    else this.#give(to, owner, { value, isProbe: false });
  }

  /** Somebody looks whether each relay is its device's again. */
  planProbes(endMs: number): void {
    const { site, timeline } = this.#world;
    for (const slot of site.attached)
      for (const { value, beforeEndMs } of slot.relay === undefined ? [] : PROBES)
        timeline.after(endMs - beforeEndMs, () => this.#give(slot, slot, { value, isProbe: true }));
  }

  /** A shared attribute of a device, or of the gateway, that has another one's relay for its name: nothing is to follow. */
  #wish(to: AttachedSlot | undefined, { relay }: AttachedSlot): void {
    const { story, platform } = this.#world;
    const id = this.#idOf(to);
    if (id === undefined || relay === undefined) return;
    story.tell(`somebody wishes ${relay.name} of ${to?.slot ?? 'the gateway'}, which does not have it`);
    platform.state.setAttributes(id, 'SHARED_SCOPE', { [relay.name]: true });
  }

  #give(
    to: AttachedSlot | undefined,
    owner: AttachedSlot,
    { value, isProbe }: Pick<AttachedCommand, 'value' | 'isProbe'>,
  ): void {
    const { timeline, story, platform } = this.#world;
    const id = this.#idOf(to);
    if (id === undefined || owner.relay === undefined) return;
    const params = { name: owner.relay.name, value };
    const command: AttachedCommand = {
      atMs: timeline.nowMs,
      to: to?.slot,
      relay: params.name,
      value,
      isItsOwn: to === owner,
      isProbe,
    };
    this.commands.push(command);
    const whom = to?.slot ?? 'the gateway';
    story.tell(`somebody asks ${whom} for setActuator ${stringifyJson(params)}`);
    const timeoutMs = isProbe ? PROBE_TIMEOUT_MS : TIMEOUT_MS;
    void platform.rpc.call(id, { method: 'setActuator', params, oneway: false, timeoutMs }).then((answer) => {
      command.answer = answer instanceof RawReply ? answer.text : answer;
      story.tell(`answer of ${whom}: ${answer === undefined ? 'none in time' : stringifyJson(command.answer ?? null)}`);
    });
  }

  /** Undefined while the platform does not know it. */
  #idOf(slot: AttachedSlot | undefined): string | undefined {
    const { platform, identity, deviceId } = this.#world;
    if (slot !== undefined) return platform.state.registry.byName(slot.deviceName)?.id;
    return identity.wasThere ? deviceId : undefined;
  }
}
