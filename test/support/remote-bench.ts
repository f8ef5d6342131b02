/** A local platform, a board and an agent's remote side, each where it belongs: the board and the agent in processes of their own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { LocalPlatform, type LocalPlatformOptions } from '../../src/stand-ins/local-platform/local-platform.ts';
import type { RecordEntry } from '../../src/stand-ins/simulated-board/board-record.ts';
import type { JsonObject, JsonValue } from '../../src/values/json.ts';
import { AGENT_PROGRAM } from './agent-program.ts';
import { bundleChild, bundledEnvironment } from './bundled-child.ts';
import type { RemoteAgentOptions } from './remote-agent.ts';

const REMOTE_AGENT = join(import.meta.dirname, 'remote-agent.ts');
const TOKEN = 'test-access-token';
const USER = { username: 'tenant@thingsboard.org', password: 'tenant' };
/** A start syncs a dozen times, and some tests make each take 2 s. */
const READY_WITHIN_MS = 60_000;

export interface RpcOutcome {
  readonly status: number;
  readonly reply: {
    readonly result?: JsonObject;
    readonly error?: { readonly code: string; readonly message: string };
  };
}

export interface RemoteBenchOptions {
  readonly platform?: LocalPlatformOptions;
  readonly agent?: Partial<RemoteAgentOptions>;
  /** For the agent's process. */
  readonly environment?: Readonly<Record<string, string>>;
}

export class RemoteBench {
  readonly folder: string;
  readonly platform: LocalPlatform;
  readonly deviceId: string;
  readonly #board: ChildProcess;
  readonly #options: RemoteBenchOptions;
  readonly #personToken: string;
  #agent: ChildProcess | undefined;
  #agentGone: Promise<unknown> = Promise.resolve();
  /** Output of the agent on stderr, of all its lives. */
  agentLog = '';

  private constructor(
    parts: Pick<RemoteBench, 'folder' | 'platform' | 'deviceId'> & {
      board: ChildProcess;
      options: RemoteBenchOptions;
      personToken: string;
    },
  ) {
    this.folder = parts.folder;
    this.platform = parts.platform;
    this.deviceId = parts.deviceId;
    this.#board = parts.board;
    this.#options = parts.options;
    this.#personToken = parts.personToken;
  }

  /** Everything but the agent. */
  static async open(options: RemoteBenchOptions = {}): Promise<RemoteBench> {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-remote-'));
    const platform = await LocalPlatform.start({ minRpcTimeoutMs: 100, ...options.platform });
    const { id: deviceId } = platform.ensureDevice('gateway', TOKEN);
    const config = join(folder, 'board.yaml');
    await writeFile(
      config,
      JSON.stringify({
        version: 1,
        gpio: [{ chip: 'gpiochip0', label: 'simulated', lines: 64, names: {}, inputs: [] }],
      }),
    );
    const words = [
      'board',
      '--socket',
      join(folder, 'board.sock'),
      '--record',
      join(folder, 'record.jsonl'),
      '--config',
      config,
    ];
    const board = spawn(process.execPath, [AGENT_PROGRAM, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    await firstLine(board);
    const login = await fetch(`${platform.url}/api/auth/login`, {
      method: 'POST',
      body: JSON.stringify(USER),
      headers: { 'content-type': 'application/json' },
    });
    const { token } = (await login.json()) as { token: string };
    return new RemoteBench({ folder, platform, deviceId, board, options, personToken: token });
  }

  /** Resolves when the agent polls. */
  async startAgent(changes: Partial<RemoteAgentOptions> = {}): Promise<void> {
    const agent: RemoteAgentOptions = {
      platformUrl: this.platform.url,
      token: TOKEN,
      boardSocket: join(this.folder, 'board.sock'),
      stateFolder: this.folder,
      ...this.#options.agent,
      ...changes,
    };
    const program = await bundledAgent();
    await this.#start([program, JSON.stringify(agent)], bundledEnvironment(program));
  }

  /** The whole agent instead, as the service runs it. Resolves when it answers. */
  async startWholeAgent(config: JsonObject): Promise<void> {
    const file = await this.#writeConfig(config);
    const started = this.#start([AGENT_PROGRAM, 'run', '--config', file]);
    started.catch(() => {});
    const untilMs = performance.now() + READY_WITHIN_MS;
    while ((await this.rpc('getStatus', {}, 1_000)).status !== 200) {
      if (performance.now() > untilMs || this.agentEnd !== undefined)
        throw new Error(`the agent does not answer: ${this.agentLog}`);
    }
  }

  /** Another configuration for the running agent, and the signal to read it. */
  async reload(config: JsonObject): Promise<void> {
    await this.#writeConfig(config);
    this.#agent?.kill('SIGHUP');
  }

  async #writeConfig(config: JsonObject): Promise<string> {
    const file = join(this.folder, 'turnstone.yaml');
    const whole = {
      version: 1,
      platform: { url: this.platform.url, accessToken: TOKEN },
      stateFolder: join(this.folder, 'state'),
      runFolder: join(this.folder, 'run'),
      status: { page: 'off' },
      log: { level: 'warn' },
      hardware: { board: 'simulated', boardSocket: join(this.folder, 'board.sock') },
      ...config,
    };
    await writeFile(file, JSON.stringify(whole));
    return file;
  }

  async #start(words: readonly string[], environment = process.env): Promise<void> {
    const child = spawn(process.execPath, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...environment, ...this.#options.environment },
    });
    this.#agent = child;
    this.#agentGone = once(child, 'exit');
    child.stderr.on('data', (bytes: Buffer) => {
      this.agentLog += bytes.toString();
    });
    await firstLine(child);
  }

  /** Undefined while it runs. */
  get agentEnd(): NodeJS.Signals | number | undefined {
    return this.#agent?.signalCode ?? this.#agent?.exitCode ?? undefined;
  }

  get agentPid(): number {
    return this.#agent?.pid ?? 0;
  }

  async killAgent(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#agent?.kill(signal);
    await this.#agentGone;
  }

  /** A person's two-way RPC over REST. */
  async rpc(
    method: string,
    params: JsonValue,
    timeoutMs = 10_000,
    way: 'oneway' | 'twoway' = 'twoway',
  ): Promise<RpcOutcome> {
    const response = await this.#rest('POST', `/api/rpc/${way}/${this.deviceId}`, {
      method,
      params,
      timeout: timeoutMs,
    });
    const text = await response.text();
    return { status: response.status, reply: text === '' ? {} : (JSON.parse(text) as RpcOutcome['reply']) };
  }

  async setShared(attributes: JsonObject): Promise<void> {
    await (
      await this.#rest('POST', `/api/plugins/telemetry/DEVICE/${this.deviceId}/attributes/SHARED_SCOPE`, attributes)
    ).arrayBuffer();
  }

  async clientAttribute(key: string): Promise<JsonValue | undefined> {
    const response = await this.#rest(
      'GET',
      `/api/plugins/telemetry/DEVICE/${this.deviceId}/values/attributes/CLIENT_SCOPE?keys=${key}`,
    );
    return ((await response.json()) as { value: JsonValue }[])[0]?.value;
  }

  /** Returns every line of the board's record. */
  async record(): Promise<readonly RecordEntry[]> {
    const text = await readFile(join(this.folder, 'record.jsonl'), 'utf8');
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as RecordEntry]));
  }

  /** How often a line of gpiochip0 went to this level. */
  async moves(offset: number, level: 0 | 1): Promise<number> {
    const source = `gpiochip0:${offset}`;
    return (await this.record()).filter(
      (entry) => entry.kind === 'moved' && entry.source === source && Number(entry.value) === level,
    ).length;
  }

  async close(): Promise<void> {
    await this.killAgent();
    const gone = once(this.#board, 'exit');
    this.#board.kill('SIGKILL');
    await gone;
    await this.platform.close();
    await rm(this.folder, { recursive: true, force: true });
    const program = await bundled;
    bundled = undefined;
    if (program !== undefined) await rm(dirname(program), { recursive: true });
  }

  #rest(method: string, path: string, body?: JsonObject): Promise<Response> {
    return fetch(`${this.platform.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-authorization': `Bearer ${this.#personToken}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

/** Bundled once for a test file, whose campaigns start it hundreds of times; gone when the last bench is closed. */
let bundled: Promise<string> | undefined;
function bundledAgent(): Promise<string> {
  bundled ??= mkdtemp(join(tmpdir(), 'turnstone-remote-agent-')).then((folder) => bundleChild(REMOTE_AGENT, folder));
  return bundled;
}

async function firstLine(child: ChildProcess): Promise<void> {
  const { stdout } = child;
  if (stdout === null) throw new Error('a process without output');
  const gone = once(child, 'exit').then(([code, signal]) =>
    Promise.reject(new Error(`a process ended at start: ${code ?? signal}`)),
  );
  gone.catch(() => {});
  const late = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error('a process did not start in time')), READY_WITHIN_MS).unref();
  });
  late.catch(() => {});
  await Promise.race([once(stdout, 'data'), gone, late]);
  stdout.resume();
}
