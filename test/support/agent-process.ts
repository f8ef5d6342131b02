/** The agent and its commands as processes of their own over a folder of the test's. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENT_PROGRAM } from './agent-program.ts';

export interface CommandOutcome {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

export class AgentProcess {
  readonly folder: string;
  readonly configFile: string;
  #child: ChildProcess | undefined;
  #log = '';
  #printed = '';

  private constructor(folder: string) {
    this.folder = folder;
    this.configFile = join(folder, 'turnstone.yaml');
  }

  /** A board with this serial number; the configuration gets folders of its own. */
  static async make(config: string, serial: string): Promise<AgentProcess> {
    const board = new AgentProcess(await mkdtemp(join(tmpdir(), 'turnstone-agent-')));
    const { folder, configFile } = board;
    await mkdir(join(folder, 'run/identity'), { recursive: true });
    await writeFile(join(folder, 'run/identity/serial-number'), `${serial}\n`);
    await writeFile(
      configFile,
      `${config}\nstateFolder: ${join(folder, 'state')}\nrunFolder: ${join(folder, 'run')}\n`,
      { mode: 0o600 },
    );
    return board;
  }

  /** Everything the agent printed so far. */
  get log(): string {
    return this.#log;
  }

  /** Everything that commands printed so far. */
  get printed(): string {
    return this.#printed;
  }

  start(environment: Readonly<Record<string, string>> = {}): void {
    const child = spawn(process.execPath, [AGENT_PROGRAM, 'run', '--config', this.configFile], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece: Buffer) => {
        this.#log += piece.toString();
      });
    }
    this.#child = child;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill(signal);
    await ended;
  }

  /** Stops it and says how it ended: with which exit code, or by which signal. */
  async stopCode(): Promise<number | string | null> {
    await this.stop();
    return this.#child?.exitCode ?? this.#child?.signalCode ?? null;
  }

  /** SIGHUP. */
  hangUp(): void {
    this.#child?.kill('SIGHUP');
  }

  /** Resolves when the agent has ended by itself. */
  async ended(): Promise<void> {
    const child = this.#child;
    if (child !== undefined && this.isRunning) await new Promise((resolve) => child.once('close', resolve));
  }

  /** Runs a command of this board's. */
  command(
    words: readonly string[],
    options: {
      readonly input?: string;
      readonly environment?: Readonly<Record<string, string>>;
      readonly config?: false;
      readonly uid?: number;
      readonly gid?: number;
    } = {},
  ): Promise<CommandOutcome> {
    const child = spawn(
      process.execPath,
      [AGENT_PROGRAM, ...words, ...(options.config === false ? [] : ['--config', this.configFile])],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...process.env, ...options.environment },
        ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.gid ?? options.uid }),
      },
    );
    child.stdin.end(options.input ?? '');
    let out = '';
    let err = '';
    child.stdout.on('data', (piece: Buffer) => {
      out += piece.toString();
    });
    child.stderr.on('data', (piece: Buffer) => {
      err += piece.toString();
    });
    return new Promise((resolve) =>
      child.once('close', (exitCode) => {
        this.#printed += out + err;
        resolve({ exitCode, out, err });
      }),
    );
  }

  async remove(): Promise<void> {
    await this.stop('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }
}
