/** Operations for a person at the device. The socket and the page only translate; every rule is here. */
import { hasCode } from '../errors/agent-error.ts';
import { sentence, toldAs } from '../names/sentences.ts';
import { toldBy } from '../names/told-error.ts';
import type { NamedOutput } from '../timeline/named.ts';
import type { TellTimeline } from '../timeline/timeline.ts';
import { badRequest } from '../values/bad-request.ts';
import { isJsonObject, type JsonValue } from '../values/json.ts';
import { mismatchOf } from '../values/value-shape.ts';
import { type Asker, expectUnlocked, mayAsk, TOLD_BY } from './may-ask.ts';
import type { AskedMovement, Emit, Operation } from './operation.ts';

export type LocalAsker = Exclude<Asker, 'platform'>;

export interface LocalDoorDeps {
  readonly operations: readonly Operation[];
  /** True while someone works on the machine. */
  readonly locked: () => boolean;
  readonly tell: TellTimeline;
  /** Returns an output's name and class for a sentence; by default the plain name without a class. */
  readonly namedOutput?: (name: string) => NamedOutput;
}

export interface LocalDoor {
  /** Those that the asker may ask for, by name. */
  readonly operations: ReadonlyMap<string, Operation>;
  /**
   * @param emit Hears the events of a stream.
   * @throws AgentError `agent/bad-request` (drop) for what is not understood; else the operation's own.
   */
  ask(name: string, params: JsonValue, signal: AbortSignal, emit?: Emit): Promise<JsonValue>;
}

export function openLocalDoor(asker: LocalAsker, deps: LocalDoorDeps): LocalDoor {
  const { operations, locked } = deps;
  const own = new Map(operations.filter((one) => mayAsk(asker, one)).map((operation) => [operation.name, operation]));
  return {
    operations: own,
    ask: async (name, params, signal, emit) => {
      const operation = own.get(name);
      if (operation === undefined) throw badRequest(`${name.slice(0, 100)} cannot be asked for here`);
      const mismatch = mismatchOf(operation.params, operation.understood?.(params) ?? params, 'params');
      if (mismatch !== undefined) throw badRequest(mismatch);
      const movement = operation.movement?.(params);
      const answer = async (): Promise<JsonValue> => {
        expectUnlocked(operation, params, { asker, locked });
        return await operation.run(params, { asker, note: operation.prepare?.(params, asker), signal, emit });
      };
      return movement === undefined ? await answer() : await toldMovement(asker, movement, answer, deps);
    },
  };
}

async function toldMovement(
  asker: LocalAsker,
  { actuator, did, value: wanted }: AskedMovement,
  move: () => Promise<JsonValue>,
  { tell, namedOutput = plainOutput }: LocalDoorDeps,
): Promise<JsonValue> {
  const by = TOLD_BY[asker];
  const { name: output, class: kind } = namedOutput(actuator);
  const common = { kind: 'command', by, actuator } as const;
  try {
    const state = await move();
    const value = isJsonObject(state) ? state.value : undefined;
    tell({ ...common, value, ...toldAs(sentence('personMoved', { by, did, output, value, class: kind })) });
    return state;
  } catch (error) {
    const how = hasCode(error, 'actuators/outcome-unknown') ? 'personNotAnswered' : 'personRefused';
    tell({ ...common, ...toldAs(sentence(how, { by, output, value: wanted, class: kind, why: toldBy(error) })) });
    throw error;
  }
}

function plainOutput(name: string): NamedOutput {
  return { name, class: undefined };
}
