/** Sets and releases outputs for the page, as an operator on site. The log names the address that it came from. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AgentError, messageOf, refusal } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonOf, parseJson } from '../values/json.ts';
import { readText, sendJson } from './answers.ts';

export interface SwitchedOutputs {
  /** @throws AgentError `actuators/…` that says which gate was closed, or what failed. */
  readonly set: (name: string, value: JsonValue, forMs: number | undefined, signal: AbortSignal) => Promise<object>;
  /** @throws AgentError `actuators/unknown` (drop). */
  readonly release: (name: string) => object | Promise<object>;
}

export interface OutputSwitchDeps {
  readonly outputs: SwitchedOutputs;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
}

const MAX_BYTES = 4_096;
/** Calls of all pages together: the outputs' own queues are behind it. */
const MAX_UNDER_WAY = 8;
/** As `for` of an RPC. */
const MAX_FOR_MS = 30 * 86_400_000;
/** Pressed longer ago, nobody expects it any more: a network that stood still may bring it after minutes. */
const LATE_AFTER_MS = 5_000;

interface Wish {
  readonly name: string;
  /** Absent for a release. */
  readonly value?: JsonValue;
  readonly forMs?: number;
  /** Time of the press, by the agent's monotonic clock, as the page knows it from the status. */
  readonly pressedMs?: number;
}

export class OutputSwitch {
  readonly #deps: OutputSwitchDeps;
  #underWay = 0;

  constructor(deps: OutputSwitchDeps) {
    this.#deps = deps;
  }

  /** Answers with the state read back, or with the reason of a refusal: 400 for what cannot be understood, 409 for what the output refuses. */
  async answer(request: IncomingMessage, response: ServerResponse, closed: AbortSignal): Promise<void> {
    // Another site cannot send this type without asking first, and nobody answers that question.
    if (request.headers['content-type'] !== 'application/json')
      return sendJson(response, { reason: 'JSON is needed' }, 415);
    if (this.#underWay >= MAX_UNDER_WAY) return sendJson(response, { reason: 'busy' }, 503);
    this.#underWay += 1;
    try {
      const wish = wishIn(await readText(request, MAX_BYTES));
      if (wish === undefined)
        return sendJson(response, { reason: 'a name and a value, or release: true, are needed' }, 400);
      sendJson(response, await this.#fulfil(wish, request.socket.remoteAddress ?? '', closed));
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      sendJson(response, { reason: messageOf(error), code: error.code }, 409);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #fulfil({ name, value, forMs, pressedMs }: Wish, from: string, closed: AbortSignal): Promise<JsonValue> {
    const { outputs, clock, log } = this.#deps;
    if (pressedMs !== undefined && Math.abs(clock.monotonicMs() - pressedMs) > LATE_AFTER_MS)
      throw refusal('status/late-press', 'it came too late from the network; press again');
    log.info({ actuator: name, value, forMs, from }, value === undefined ? 'released on the page' : 'set on the page');
    return jsonOf(value === undefined ? await outputs.release(name) : await outputs.set(name, value, forMs, closed));
  }
}

function wishIn(text: string | undefined): Wish | undefined {
  const body = text === undefined ? undefined : parsed(text);
  if (body === undefined || typeof body.name !== 'string') return undefined;
  const { name, value, release, forMs, pressedMs } = body;
  if (pressedMs !== undefined && typeof pressedMs !== 'number') return undefined;
  if (release === true) return value === undefined ? { name, pressedMs } : undefined;
  const isTime = forMs === undefined || (typeof forMs === 'number' && forMs > 0 && forMs <= MAX_FOR_MS);
  return value === undefined || !isTime ? undefined : { name, value, forMs, pressedMs };
}

function parsed(text: string): JsonObject | undefined {
  try {
    const body = parseJson(text, { length: MAX_BYTES });
    return isJsonObject(body) ? body : undefined;
  } catch {
    return undefined;
  }
}
