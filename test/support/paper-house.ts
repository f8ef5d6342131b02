/**
 * A machine for commands of the papers, as they are written: /etc, /var/lib and /run are this process's own, the agent is installed as `turnstone`, and
 * `sudo` and `systemctl` are stand-ins. Needs root, for the mounts.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENT_PROGRAM } from './agent-program.ts';

const WITHIN_MS = 60_000;
/** Folders that commands of the papers write to. */
const OWN_FOLDERS = ['/etc', '/var/lib', '/run'];
/** The gateway's own folders, empty in a house whatever this machine has in them. */
const GATEWAY = '/etc/turnstone /var/lib/turnstone';
const PASSPHRASE = 'a passphrase of twenty letters';
/** Questions of commands, each with the answer of a person. */
const ANSWERS: readonly (readonly [RegExp, string])[] = [
  [/(Passphrase|Once more)[^\n]*: $/, PASSPHRASE],
  [/Type yes: $/, 'yes'],
];

/** Stand-in for the service manager: the agent of /etc/turnstone/turnstone.yaml, in the background. */
const SYSTEMCTL = `#!/bin/bash
[ "$2" = turnstone ] || exit 5
pid=$(cat "$HOUSE/agent.pid" 2>/dev/null)
case $1 in
  reload) kill -HUP "$pid"; exit ;;
  stop | restart)
    if [ -n "$pid" ]; then
      kill -TERM "$pid"
      while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
      rm -f "$HOUSE/agent.pid"
    fi ;;&
  start | restart)
    turnstone run >>"$HOUSE/agent.log" 2>&1 </dev/null &
    echo $! >"$HOUSE/agent.pid"
    for _ in $(seq 300); do turnstone status >/dev/null 2>&1 && exit 0; sleep 0.1; done
    exit 1 ;;
esac
`;

export interface PaperOutcome {
  readonly exitCode: number;
  readonly said: string;
}

/** Why no such machine can be made here; undefined when it can. */
export function missingHouse(): string | undefined {
  try {
    execFileSync(
      'unshare',
      [
        '-m',
        'sh',
        '-c',
        'mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w && mount -t overlay o -o lowerdir=/etc,upperdir=/mnt/u,workdir=/mnt/w /etc',
      ],
      { stdio: 'ignore' },
    );
    execFileSync('script', ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'no overlay can be mounted here, or there is no terminal to be had (script): needs root';
  }
}

export class PaperHouse {
  /** Home folder, where the commands are typed. */
  readonly home: string;
  readonly #folder: string;
  readonly #holder: ChildProcess;

  private constructor(folder: string, holder: ChildProcess) {
    this.#folder = folder;
    this.home = join(folder, 'home');
    this.#holder = holder;
  }

  static async open(): Promise<PaperHouse> {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-house-'));
    const bin = join(folder, 'bin');
    for (const name of ['bin', 'home', 'own']) await mkdir(join(folder, name));
    const programs = {
      sudo: '#!/bin/sh\nexec "$@"\n',
      turnstone: `#!/bin/sh\nexec '${process.execPath}' '${AGENT_PROGRAM}' "$@"\n`,
      systemctl: SYSTEMCTL,
    };
    for (const [name, text] of Object.entries(programs)) {
      await writeFile(join(bin, name), text);
      await chmod(join(bin, name), 0o755);
    }
    const mounts = OWN_FOLDERS.map((name, at) => {
      const [upper, work] = ['upper', 'work'].map((part) => join(folder, 'own', `${at}-${part}`));
      return `mkdir ${upper} ${work} && mount -t overlay own -o lowerdir=${name},upperdir=${upper},workdir=${work} ${name}`;
    });
    const made = [`mount -t tmpfs own ${join(folder, 'own')}`, ...mounts, `rm -rf ${GATEWAY}`, `mkdir -p ${GATEWAY}`];
    const holder = spawn('unshare', ['-m', 'bash', '-c', `${made.join(' && ')} && echo made && exec sleep infinity`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (holder.stdout === null) throw new Error('the house says nothing');
    const [said] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')])) as [unknown];
    if (String(said).trim() !== 'made') throw new Error('the house cannot be made');
    return new PaperHouse(folder, holder);
  }

  /** Writes a file of this machine. */
  async write(path: string, text: string): Promise<void> {
    const kept = join(this.#folder, 'given');
    await writeFile(kept, text, { mode: 0o600 });
    await this.run(`mkdir -p $(dirname ${path}) && cp ${kept} ${path}`);
  }

  /** Types a command at a terminal; each question gets its answer. */
  async run(command: string, options: { readonly interruptAfterMs?: number } = {}): Promise<PaperOutcome> {
    const child = spawn(
      'script',
      [
        '--quiet',
        '--return',
        '--echo',
        'never',
        '--command',
        `${this.#entering()} bash ${await this.#typed(command)}`,
        '/dev/null',
      ],
      {
        cwd: this.home,
        env: {
          PATH: `${join(this.#folder, 'bin')}:${process.env.PATH}`,
          HOME: this.home,
          HOUSE: this.#folder,
          TERM: 'dumb',
        },
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    );
    let said = '';
    let answeredTill = 0;
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => {
        said += piece.toString();
        const [, answer] = ANSWERS.find(([question]) => question.test(said.slice(answeredTill))) ?? [];
        if (answer === undefined) return;
        answeredTill = said.length;
        child.stdin.write(`${answer}\n`);
      });
    const interrupt =
      options.interruptAfterMs === undefined
        ? undefined
        : setTimeout(() => child.stdin.write('\x03'), options.interruptAfterMs);
    const killed = setTimeout(() => child.kill('SIGKILL'), WITHIN_MS);
    const [exitCode] = (await once(child, 'close')) as [number | null];
    clearTimeout(interrupt);
    clearTimeout(killed);
    return { exitCode: exitCode ?? -1, said };
  }

  /** What the agent has logged. */
  async log(): Promise<string> {
    return await readFile(join(this.#folder, 'agent.log'), 'utf8').catch(() => '');
  }

  async close(): Promise<void> {
    await this.run('systemctl stop turnstone');
    this.#holder.kill('SIGKILL');
    await once(this.#holder, 'exit');
    await rm(this.#folder, { recursive: true, force: true });
  }

  #entering(): string {
    return `nsenter --mount --target ${this.#holder.pid} --wdns=${this.home}`;
  }

  async #typed(command: string): Promise<string> {
    const file = join(this.#folder, 'typed.sh');
    await writeFile(file, `${command}\n`);
    return file;
  }
}
