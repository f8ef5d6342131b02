/**
 * Server-side RPC: poll, answer, reply, and only then poll again, because the platform hands a pending request out until it is answered
 * and holds back those behind it. A reply that the platform cannot take now is tried for a while; after that the next hand-out
 * of the same request gets it from the journal.
 */
import { AgentError, hasCode, messageOf } from '../errors.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonObject } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { DeviceApi, RpcRequest } from '../platform/device-api.ts';
import { type MessageWorth, runLongPoll } from '../platform/long-poll.ts';
import type { RpcExecutor } from './rpc-executor.ts';
import { replyOfError } from './rpc-reply.ts';

export interface RpcLoopDeps {
  readonly deviceApi: Pick<DeviceApi, 'pollRpc' | 'replyRpc'>;
  readonly executor: RpcExecutor;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the platform has sent a request; "nothing yet" may come from a proxy before a platform that is gone. */
  readonly onContact?: () => void;
  readonly pollTimeoutMs?: number;
  readonly random?: () => number;
}

/** How long a reply is tried before the loop goes back to polling; platforms wait 10 s for one by default. */
const REPLY_TRIED_FOR_MS = 20_000;
const REPLY_BACKOFF = { firstMs: 200, maxMs: 5_000 };

/** Answers requests until the signal aborts; never rejects. */
export async function runRpcLoop(deps: RpcLoopDeps, signal: AbortSignal): Promise<void> {
  await runLongPoll(
    {
      kind: 'rpc',
      poll: async (timeoutMs, pollSignal) => {
        const request = await deps.deviceApi.pollRpc(timeoutMs, pollSignal);
        if (request !== undefined) deps.onContact?.();
        return request;
      },
      onMessage: (request, messageSignal) => handle(deps, request, messageSignal),
      clock: deps.clock,
      log: deps.log,
      ...(deps.pollTimeoutMs === undefined ? {} : { pollTimeoutMs: deps.pollTimeoutMs }),
      ...(deps.random === undefined ? {} : { random: deps.random }),
    },
    signal,
  );
}

async function handle(deps: RpcLoopDeps, request: RpcRequest, signal: AbortSignal): Promise<MessageWorth> {
  const { executor, log } = deps;
  const { reply, repeat, afterReply } = await executor.answer(request, signal);
  const failed = Object.hasOwn(reply, 'error');
  log.info({ id: request.id, method: request.method.slice(0, 100), repeat, failed }, 'RPC answered');
  try {
    if (await sendReply(deps, request, reply, signal)) executor.answered(request);
  } finally {
    afterReply?.();
  }
  return repeat ? 'worthless' : 'worthy';
}

/** True once the platform took the reply. */
async function sendReply(deps: RpcLoopDeps, request: RpcRequest, reply: JsonObject, signal: AbortSignal): Promise<boolean> {
  const { deviceApi, clock, log, random } = deps;
  const backoff = new Backoff({ ...REPLY_BACKOFF, ...(random === undefined ? {} : { random }) });
  const untilMs = clock.monotonicMs() + REPLY_TRIED_FOR_MS;
  let body = reply;
  for (;;) {
    try {
      await deviceApi.replyRpc(request.id, body, signal);
      return true;
    } catch (error) {
      const replaceable = hasCode(error, 'platform/refused') && body === reply;
      if (replaceable) body = replyOfError('reply-refused', 'the platform did not take the reply');
      const worthTrying = replaceable || (error instanceof AgentError && error.recovery === 'retry');
      if (signal.aborted || !worthTrying || clock.monotonicMs() >= untilMs) {
        log.warn({ id: request.id, error: messageOf(error) }, 'an RPC reply was not taken');
        return false;
      }
      await clock.sleep(replaceable ? 0 : backoff.nextMs(), signal);
    }
  }
}
