/** Faults of attached devices: whose an entry is, whose an actuator is, and what becomes of entries that are held apart. */
import type { PlantedFault } from './fault.ts';

export const ATTACHED_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a sensor that is configured belongs to the gateway',
    file: 'telemetry/configured-sensors.ts',
    old: 'return (this.#byName.get(sensor) ?? this.#left.get(sensor))?.device;',
    new: 'return this.#left.get(sensor)?.device;',
    needs: ['attached devices'],
  },
  {
    name: 'entries of all devices go with the first one’s token',
    file: 'devices/devices.ts',
    old: 'const id = this.#deps.names.resolve(kept);',
    new: 'const id = kept === undefined ? undefined : this.#deps.names.present[0];',
    needs: ['attached devices'],
  },
  {
    name: 'a device that is refused by itself loses its part of a window',
    file: 'telemetry/fan-out.ts',
    old: 'await this.#deps.held.move(part.device, part.rows, english(reasonFor(answer)), signal);',
    new: 'english(reasonFor(answer));',
    needs: ['attached devices', 'server errors|picky filter|bad line|rate limit'],
  },
  {
    name: 'a place of held entries goes before it is empty',
    file: 'telemetry/held-devices.ts',
    old: 'return outbox.isOpen && outbox.status().heldEntries === 0 && (outbox.deadLetters?.size ?? 0) === 0;',
    new: 'return outbox.isOpen;',
    needs: ['attached devices', 'server errors|picky filter|bad line|rate limit'],
  },
  {
    name: 'what is held apart gets the time at which it is moved',
    file: 'outbox/patient-outbox.ts',
    old: 'return this.append(asAppended([...entries], this.#deps.clock));',
    new: 'return this.append(asAppended([...entries], this.#deps.clock).map(({ takenAtMs: _lost, ...entry }) => entry));',
    needs: ['attached devices', 'server errors|picky filter|bad line|rate limit'],
  },
  {
    name: 'rows of a device are the first ones of a window',
    file: 'outbox/format/entry-columns.ts',
    old: 'own.map((row) => column[row] as never)',
    new: 'own.map((_row, n) => column[n] as never)',
    needs: ['attached devices'],
  },
  {
    name: 'a command may name the actuator of any device',
    file: 'actuators/own-actuators.ts',
    old: 'if (!names.has(name)) throw',
    new: "if (name === '') throw",
    needs: ['attached relays'],
  },
  {
    name: 'all actuators are every device’s own',
    file: 'actuators/own-actuators.ts',
    old: 'const own = configs.filter((one) => one.device === device);',
    new: 'const own = configs.filter((one) => one.name !== device);',
    needs: ['attached relays'],
  },
  {
    name: 'a device with an actuator polls for no commands',
    file: 'config/keys/device-polls.ts',
    old: 'rpc: rpc.enabled && (moves || isAsked)',
    new: 'rpc: rpc.enabled && isAsked',
    needs: ['attached relays'],
  },
  {
    name: 'actuators of attached devices are nobody’s',
    file: 'actuators/own-actuators.ts',
    old: 'const names = new Set(own.map(({ name }) => name));',
    new: 'const names = new Set(own.flatMap((one) => (one.device === undefined ? [one.name] : [])));',
    needs: ['attached relays'],
  },
];
