/** Sets or releases an actuator from on site, or tells why it is as it is; and sends a client-side RPC. */

import { formatDuration } from '../config/fields/quantity.ts';
import { hasCode } from '../errors/agent-error.ts';
import { printable } from '../names/printable.ts';
import type { Answers } from '../operations/answers.ts';
import { type JsonValue, stringifyJson } from '../values/json.ts';
import type { AgentCalls } from './agent-calls.ts';
import type { ActuateCall, RpcCall } from './commands/status.ts';
import { CommandError, EXIT, usageError } from './exit-code.ts';
import { outputText } from './value-text.ts';

/** @throws CommandError with exit code 2 for a call that names no value, or one beside `--release` or `--why`. */
export async function actuate({ args: { name, value }, flags, agent, print }: ActuateCall): Promise<void> {
  const { for: forMs, release = false, why = false, text = false, json = false } = flags;
  const asked = [value !== '' || text, release, why].filter(Boolean).length;
  if (asked !== 1) throw usageError('one of a value, --release and --why is needed');
  if (forMs !== undefined && (release || why)) throw usageError('--for is for a value');
  const { ask } = await agent();
  if (why) {
    const answer = await ask('getActuator', { name });
    const called = json ? { name } : await namedOutput(ask, name);
    const rows = slotRows(answer, called);
    return print.result(
      answer,
      () => `${printable(called.name)}: ${printable(called.why ?? answer.why)}\n${print.table(rows, '  ')}`,
    );
  }
  const time = forMs === undefined ? undefined : formatDuration(forMs);
  const answer = release
    ? await ask('releaseActuator', { name })
    : await ask('setActuator', { name, value: text ? value : typedValue(value), for: time }).catch((error: unknown) => {
        if (!hasCode(error, 'actuators/outcome-unknown')) throw error;
        const nextStep = `turnstone actuate ${name} --why tells when it is known`;
        throw new CommandError(error.message, { exitCode: EXIT.outcomeUnknown, nextStep, cause: error });
      });
  const called = json ? { name } : await namedOutput(ask, name);
  const unproven = answer.proven === false ? ' (the broker took it; nothing proves that it moved)' : '';
  const shown = outputText(answer.value ?? 'unknown', called.class);
  print.result(answer, () => `${printable(called.name)}: ${shown}${unproven}\n`);
}

interface CalledOutput {
  readonly name: string;
  readonly class?: string | undefined;
  /** Reason with the labels of rules and outputs. */
  readonly why?: string | undefined;
  /** Labels of rules, by their names. */
  readonly rules?: ReadonlyMap<string, string>;
}

/** Returns how people call an output; its own name where the agent does not tell. */
async function namedOutput(ask: AgentCalls['ask'], name: string): Promise<CalledOutput> {
  const status = await ask('getStatus').catch(() => undefined);
  const found = status?.actuators.find((one) => one.name === name);
  const rules = new Map(
    found?.slots?.flatMap(({ rule, label }) => (rule === undefined || label === undefined ? [] : [[rule, label]])),
  );
  return { name: found?.label ?? name, class: found?.class, why: found?.why, rules };
}

/** Returns the filled slots, the highest first, and below them the rules that have no say. */
function slotRows({ slots, silent = [] }: Answers['getActuator'], called: CalledOutput): string[][] {
  const filled = slots.map(({ slot, value = null, rule, by }) => [
    String(slot),
    outputText(value, called.class),
    printable(String(called.rules?.get(String(rule)) ?? rule ?? by ?? '')),
  ]);
  const others = silent.map(({ rule, why }) => ['silent', '', printable(`${String(rule)}: ${String(why)}`)]);
  return [...filled, ...others];
}

/** Returns what a technician has typed. */
function typedValue(text: string): JsonValue {
  if (/^(on|true)$/i.test(text)) return true;
  if (/^(off|false)$/i.test(text)) return false;
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

export async function sendRpc({ args: { method, params }, flags, agent, print }: RpcCall): Promise<void> {
  const reply = await (await agent()).ask('clientRpc', { method, params }, { deadlineMs: flags.timeout * 1000 });
  print.writeForeign(`${flags.json === true ? stringifyJson(reply) : indented(reply)}\n`);
}

function indented(reply: JsonValue): string {
  return JSON.stringify(
    reply,
    (_key, value: unknown) => (typeof value === 'bigint' ? JSON.rawJSON(value.toString()) : value),
    2,
  );
}
