/**
 * Server-side RPC: poll, answer, reply, and only then poll again, because the platform hands a pending request out until it is answered
 * and holds back those behind it. Whatever has that id takes the reply, also the command of another life of the platform: so it goes out soon
 * after a hand-out, or waits for the next one (SAME-COMMAND.md).
 */
import { AgentError, hasCode, messageOf } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import { endedWithin, withinMs } from '../host/bounded-wait.ts';
import type { RpcRequest } from '../platform/device-api.ts';
import { type MessageWorth, runLongPoll } from '../platform/long-poll.ts';
import { askedDelayMs } from '../platform/platform-error.ts';
import type { PollBeat } from '../platform/poll-beat.ts';
import type { PollPlace } from '../platform/poll-turns.ts';
import type { RpcExecutor } from './rpc-executor.ts';
import { type ReplyBody, replyOfError } from './rpc-reply.ts';
import type { RpcServiceDeps } from './rpc-service.ts';
import { SAME_WITHIN_MS } from './same-command.ts';

export interface RpcLoopDeps extends Pick<RpcServiceDeps, 'deviceApi' | 'clock' | 'log'> {
  readonly executor: RpcExecutor;
  /** Called when the platform has sent a request; "nothing yet" may come from a proxy before a platform that is gone. */
  readonly onContact?: () => void;
  readonly pollTimeoutMs?: number | undefined;
  readonly longestPollMs?: number | undefined;
  readonly place?: PollPlace | undefined;
  readonly beat?: PollBeat | undefined;
  /** Time between two looks for commands, where none are waited for. */
  readonly wakes?: (() => number | undefined) | undefined;
}

/**
 * While something takes longer the loop polls on, so often: others whom the platform does not hold back get their turn, switching off above
 * all, and what is still waited for is asked for again sooner than a platform can restart unseen.
 */
const ASK_AGAIN_AFTER_MS = 2_000;
/** From the hand-out: no platform is known to restart in this time unseen. */
const REPLY_WITHIN_MS = SAME_WITHIN_MS;
/** Likewise, for the next hand-out after a reply that failed, which may have been the restart. */
const STEADY_WITHIN_MS = 5_000;
/** For another try of that reply: so that there is time for that hand-out. */
const REPLY_AGAIN_WITHIN_MS = 3_000;
const REPLY_BACKOFF = { firstMs: 200, maxMs: REPLY_AGAIN_WITHIN_MS };
/** Delay of an action after a failed reply, such as a restart: the next hand-out may bring the reply home. */
const REPLY_GIVEN_UP_AFTER_MS = 20_000;
/** A poll without a message that ended before this share of its time was cut. */
const HELD_SHARE = 0.9;

interface RpcLoop extends RpcLoopDeps {
  /** When that was handed out whose reply failed, until the platform speaks again. */
  unansweredSinceMs?: number | undefined;
}

/** Answers requests until the signal aborts, and waits for what is under way then; never rejects. */
export async function runRpcLoop(deps: RpcLoopDeps, signal: AbortSignal): Promise<void> {
  const loop: RpcLoop = { ...deps };
  await runLongPoll(
    {
      kind: 'rpc',
      poll: (timeoutMs, pollSignal) => poll(loop, timeoutMs, pollSignal),
      onMessage: (request, messageSignal) => handle(loop, request, messageSignal),
      // While others had their turn the platform may have restarted unseen.
      onWaited: (waitedMs) => void (waitedMs >= STEADY_WITHIN_MS && deps.executor.doubtPlatform()),
      isUnderWay: () => deps.executor.isBusy,
      clock: deps.clock,
      log: deps.log,
      place: deps.place,
      beat: deps.beat,
      wakes: deps.wakes,
      pollTimeoutMs: deps.pollTimeoutMs,
      longestPollMs: deps.longestPollMs,
    },
    signal,
  );
  await deps.executor.ended();
}

/** Whatever is not the platform's own answer, after the time it was asked for, may hide a restart of it. */
async function poll(loop: RpcLoop, timeoutMs: number, signal: AbortSignal): Promise<RpcRequest | undefined> {
  const { deviceApi, executor, clock } = loop;
  const startedMs = clock.monotonicMs();
  try {
    const request = await deviceApi.pollRpc(timeoutMs, signal);
    const { unansweredSinceMs = Number.POSITIVE_INFINITY } = loop;
    loop.unansweredSinceMs = undefined;
    if (clock.monotonicMs() - unansweredSinceMs >= STEADY_WITHIN_MS) executor.doubtPlatform();
    if (request !== undefined) loop.onContact?.();
    else if (signal.aborted || clock.monotonicMs() - startedMs < timeoutMs * HELD_SHARE) executor.doubtPlatform();
    return request;
  } catch (error) {
    executor.doubtPlatform();
    throw error;
  }
}

async function handle(loop: RpcLoop, request: RpcRequest, signal: AbortSignal): Promise<MessageWorth> {
  const { executor, clock, log } = loop;
  const handedOutMs = clock.monotonicMs();
  const answering = executor.answer(request, signal);
  const answer = (await endedWithin(clock, ASK_AGAIN_AFTER_MS, answering)) ? await answering : undefined;
  if (answer?.reply === undefined) {
    // Whoever still waits for it is told when it has ended.
    void answering.then(({ afterReply }) => afterReply?.());
    // The wait for it was pause enough, and a longer one would hold up its reply and all behind it.
    return answer === undefined ? 'worthy' : 'worthless';
  }
  const { reply, repeat, afterReply } = answer;
  const failed = Object.hasOwn(reply, 'error');
  log.info({ id: request.id, method: request.method.slice(0, 100), repeat, failed }, 'RPC answered');
  const outcome = await sendReply(
    loop,
    { id: request.id, reply: executor.bodyOf(request, reply), handedOutMs },
    signal,
  );
  if (outcome === 'taken') executor.answered(request);
  if (afterReply !== undefined)
    void clock.sleep(outcome === 'failed' ? REPLY_GIVEN_UP_AFTER_MS : 0, signal).then(afterReply);
  return repeat ? 'worthless' : 'worthy';
}

/** The platform took the reply, or the error that goes out in place of one it refused; or refused both. */
async function sendReply(
  loop: RpcLoop,
  { id, reply, handedOutMs }: { readonly id: number; readonly reply: ReplyBody; readonly handedOutMs: number },
  signal: AbortSignal,
): Promise<'taken' | 'refused' | 'failed'> {
  const { deviceApi, clock, log } = loop;
  const backoff = new Backoff(REPLY_BACKOFF, clock);
  let body = reply;
  let tryForMs = REPLY_WITHIN_MS;
  const leftMs = (): number => handedOutMs + tryForMs - clock.monotonicMs();
  for (;;) {
    try {
      await withinMs(
        clock,
        leftMs(),
        (within) =>
          'json' in body ? deviceApi.replyRpc(id, body.json, within) : deviceApi.failRpc(id, body.text, within),
        signal,
      );
      return 'taken';
    } catch (error) {
      const isRefused = hasCode(error, 'platform/refused');
      const isReplaced = isRefused && body === reply;
      if (isReplaced) body = { json: replyOfError('reply-refused', 'the platform did not take the reply') };
      else tryForMs = REPLY_AGAIN_WITHIN_MS;
      const worthTrying = isReplaced || (error instanceof AgentError && error.recovery === 'retry');
      const askedMs = askedDelayMs(error);
      const delayMs = isReplaced ? 0 : backoff.nextMs(askedMs);
      if (!isRefused) loop.unansweredSinceMs = handedOutMs;
      if (signal.aborted || !worthTrying || delayMs >= leftMs()) {
        log.warn({ id, error: messageOf(error) }, 'an RPC reply was not taken');
        await clock.sleep(askedMs, signal);
        return isRefused ? 'refused' : 'failed';
      }
      await clock.sleep(delayMs, signal);
    }
  }
}
