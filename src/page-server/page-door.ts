/** Operations as the page asks for them. The log names the address that a change came from. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AgentError, messageOf, refusal } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { LocalDoor } from '../operations/local-door.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../values/json.ts';
import { readText, sendJson } from './answers.ts';

export interface PageDoorDeps {
  readonly operations: LocalDoor;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
}

/** A patch of one sensor with many keys. */
const MAX_BYTES = 16_384;
/** Concurrent calls of all pages; behind them each output has a queue of its own. */
const MAX_UNDER_WAY = 8;
/** Age of a press that is refused: a stalled network may deliver it minutes later, when nobody expects it. */
const LATE_AFTER_MS = 5_000;

interface Wish {
  readonly operation: string;
  readonly params: JsonObject;
  /** Time of the press, by the agent's monotonic clock, as the page knows it from the status. */
  readonly pressedMs?: number;
}

export class PageDoor {
  readonly #deps: PageDoorDeps;
  #underWay = 0;

  constructor(deps: PageDoorDeps) {
    this.#deps = deps;
  }

  /** Answers as the operation does, or with the reason of a refusal: 400 for what cannot be understood, 409 for what was refused. */
  async answer(request: IncomingMessage, response: ServerResponse, closed: AbortSignal): Promise<void> {
    // Another site cannot send this type without asking first, and nobody answers that question.
    if (request.headers['content-type'] !== 'application/json')
      return sendJson(response, { reason: 'JSON is needed' }, 415);
    if (this.#underWay >= MAX_UNDER_WAY) return sendJson(response, { reason: 'busy' }, 503);
    this.#underWay += 1;
    try {
      const wish = wishIn(await readText(request, MAX_BYTES));
      if (wish === undefined) return sendJson(response, { reason: 'an operation and its params are needed' }, 400);
      sendJson(response, await this.#fulfil(wish, request.socket.remoteAddress ?? '', closed));
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      sendJson(
        response,
        { reason: messageOf(error), code: error.code },
        error.code === 'agent/bad-request' ? 400 : 409,
      );
    } finally {
      this.#underWay -= 1;
    }
  }

  async #fulfil({ operation, params, pressedMs }: Wish, from: string, closed: AbortSignal): Promise<JsonValue> {
    const { operations, clock, log } = this.#deps;
    if (pressedMs !== undefined && Math.abs(clock.monotonicMs() - pressedMs) > LATE_AFTER_MS)
      throw refusal('status/late-press', 'it came too late from the network; press again');
    // A patch may hold private values, so the log leaves it out; the timeline tells its outcome.
    const isConfigure = operation === 'configure';
    const told = isConfigure ? undefined : params;
    const check = isConfigure ? params.check === true : undefined;
    if (operations.operations.get(operation)?.effect !== 'read')
      log.info(
        { operation, params: told, check, from },
        check === true ? 'looked at on the page' : 'asked on the page',
      );
    return await operations.ask(operation, params, closed);
  }
}

function wishIn(text: string | undefined): Wish | undefined {
  const { operation, params, pressedMs } = (text === undefined ? undefined : parsed(text)) ?? {};
  if (typeof operation !== 'string' || !isJsonObject(params)) return undefined;
  if (pressedMs !== undefined && typeof pressedMs !== 'number') return undefined;
  return { operation, params, pressedMs };
}

function parsed(text: string): JsonObject | undefined {
  try {
    const body = parseJson(text, { length: MAX_BYTES });
    return isJsonObject(body) ? body : undefined;
  } catch {
    return undefined;
  }
}
