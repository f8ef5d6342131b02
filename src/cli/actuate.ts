/** Moves an actuator from on site. */
import { isJsonObject, type JsonValue } from '../host/json.ts';
import type { ActuateCall } from './commands/actuate.ts';
import { valueText } from './value-text.ts';

export async function actuate({ args: { name, value }, flags, agent, print }: ActuateCall): Promise<void> {
  const wanted = flags.text === true ? value : typedValue(value);
  const answer = await (await agent()).ask<JsonValue>('setActuator', { name, value: wanted });
  print.result(answer, () => `${name}: ${shown(answer)}\n`);
}

/** As a technician types it. */
function typedValue(text: string): JsonValue {
  if (/^(on|true)$/i.test(text)) return true;
  if (/^(off|false)$/i.test(text)) return false;
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

function shown(answer: JsonValue): string {
  const value = isJsonObject(answer) ? answer.value : answer;
  return value === undefined ? 'done' : valueText(value);
}
