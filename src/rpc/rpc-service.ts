/** Server-side RPC as a whole: its journal, which is open before the first poll, its methods, and the loop that answers. */
import { join } from 'node:path';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import type { Operation } from '../operations/operation.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import type { PollBeat } from '../platform/poll-beat.ts';
import { pollLimits } from '../platform/poll-length.ts';
import type { PollPlace } from '../platform/poll-turns.ts';
import { loadLinearPatterns } from '../values/linear-pattern.ts';
import type { MatchesPattern, ValueShape } from '../values/value-shape.ts';
import { FORMER_JOURNAL_FILE, JOURNAL_FILE, JournalFile } from './journal-file.ts';
import { MethodTable } from './method-table.ts';
import { RpcExecutor, type RpcExecutorDeps } from './rpc-executor.ts';
import { RpcJournal } from './rpc-journal.ts';
import { runRpcLoop } from './rpc-loop.ts';

export interface RpcServiceDeps extends Pick<HostMachine, 'clock' | 'files'> {
  readonly config: () => AgentConfig;
  readonly deviceApi: Pick<DeviceApi, 'pollRpc' | 'replyRpc' | 'failRpc'>;
  readonly log: Log;
  readonly methods: readonly Operation[];
  /** Entries of the configuration that hold for these methods; default all of them. */
  readonly permissions?: AgentConfig['rpc']['methods'];
  /** Folder of the journal; default the gateway's own. */
  readonly folder?: string;
  /** Where its poll stands in turns. */
  readonly place?: PollPlace;
  /** By which its poll ends together with the one for attributes. */
  readonly beat?: PollBeat;
  /** Time between two looks for commands, where the link is too dear to wait for them. */
  readonly wakes?: () => number | undefined;
  /** True while someone works on the machine. */
  readonly locked: () => boolean;
  /** The platform has sent a request. */
  readonly onContact: () => void;
  readonly onCommand?: RpcExecutorDeps['onCommand'];
  /** Only tests listen. */
  readonly checkpoint?: RpcExecutorDeps['checkpoint'];
}

export class RpcService {
  readonly #deps: RpcServiceDeps;
  readonly #journal: RpcJournal;
  readonly #executor: RpcExecutor;

  private constructor(deps: RpcServiceDeps, journal: RpcJournal, matches: MatchesPattern | undefined) {
    const { clock, log, locked, checkpoint, onCommand } = deps;
    this.#deps = deps;
    this.#journal = journal;
    const methods = new MethodTable({
      clock,
      methods: deps.methods,
      permissions: permissionsOf(deps),
      locked,
      matches,
    });
    this.#executor = new RpcExecutor({ journal, methods, clock, log, checkpoint, onCommand });
  }

  /** @throws AgentError `rpc/method-twice` (stop) for a declared method with a built-in one's name. */
  static async open(deps: RpcServiceDeps): Promise<RpcService> {
    const { config, clock, files, log, folder = config().stateFolder } = deps;
    const file = new JournalFile(files, join(folder, JOURNAL_FILE), join(folder, FORMER_JOURNAL_FILE));
    const matches = await matcherFor(permissionsOf(deps));
    return new RpcService(deps, await RpcJournal.open({ file, clock, log }), matches);
  }

  /** Answers the platform until the signal aborts; at once over where the configuration wants no RPC. */
  async run(signal: AbortSignal): Promise<void> {
    const { rpc, platform } = this.#deps.config();
    if (rpc.enabled) await runRpcLoop({ ...this.#deps, executor: this.#executor, ...pollLimits(platform) }, signal);
  }

  /** Everything known is on disk when this resolves. Idempotent; `run` has ended before. */
  async close(): Promise<void> {
    await this.#journal.close();
  }
}

function permissionsOf({ permissions, config }: RpcServiceDeps): AgentConfig['rpc']['methods'] {
  return permissions ?? config().rpc.methods;
}

/** Patterns in linear time; undefined where no method has one. */
async function matcherFor(methods: AgentConfig['rpc']['methods']): Promise<MatchesPattern | undefined> {
  const shapes = Object.values(methods).flatMap(({ params, allowed }) => [params, allowed]);
  const patterns = new Set(shapes.flatMap(patternsIn));
  if (patterns.size === 0) return undefined;
  const compile = await loadLinearPatterns();
  const compiled = new Map([...patterns].map((pattern) => [pattern, compile(pattern)]));
  return (pattern, text) => (compiled.get(pattern) ?? compile(pattern)).test(text);
}

function patternsIn(shape: ValueShape | undefined): readonly string[] {
  if (shape === undefined) return [];
  const { pattern, properties = {}, items } = shape;
  return [...(pattern === undefined ? [] : [pattern]), ...[...Object.values(properties), items].flatMap(patternsIn)];
}
