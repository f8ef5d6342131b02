/** Worlds side by side, each in a process of its own: what one leaves in memory is not there for the next hundred. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Verdict } from './live.ts';
import type { PlanOptions } from './plan.ts';

/** A process is replaced after so many worlds. */
const WORLDS_EACH = 25;
/**
 * Most of what a world makes is of no use a moment later: with room for it little is copied when it is collected. Nobody reads the stacks of
 * faults that a world provokes by the thousand.
 */
const NODE_FLAGS = ['--min-semi-space-size=32', '--max-semi-space-size=32', '--stack-trace-limit=0'];
/** A world that takes longer hangs, or goes in circles. */
const MAX_MS = 15 * 60_000;

export interface Task {
  readonly seed: number;
  readonly options: PlanOptions;
}
export interface Lived {
  readonly verdict: Verdict;
  readonly cpuSeconds: number;
}

/** Lets the worlds of all seeds live, `count` at a time; `onLived` is called as each ends, and says whether to go on. */
export async function liveAll(
  tasks: Iterable<Task>,
  {
    count,
    worker = new URL('worker.ts', import.meta.url),
    onLived,
  }: { count: number; worker?: URL; onLived: (lived: Lived, task: Task) => boolean },
): Promise<void> {
  const queue = tasks[Symbol.iterator]();
  let isOver = false;
  const lane = async (): Promise<void> => {
    let child: ChildProcess | undefined;
    for (let lived = 0; !isOver; lived += 1) {
      const next = queue.next();
      if (next.done === true) break;
      if (child === undefined || lived % WORLDS_EACH === 0) {
        child?.kill();
        child = fork(fileURLToPath(worker), {
          execArgv: [...process.execArgv, ...NODE_FLAGS],
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        });
      }
      const result = await askWorker(child, next.value);
      if (result.died) child = undefined;
      if (!onLived(result.lived, next.value)) isOver = true;
    }
    child?.kill();
  };
  await Promise.all(Array.from({ length: count }, lane));
}

/** A process that ends, or does not answer, is a contradiction of its own. */
function askWorker(child: ChildProcess, task: Task): Promise<{ readonly lived: Lived; readonly died: boolean }> {
  return new Promise((resolve) => {
    const failed = (why: string): void => {
      finish();
      child.kill('SIGKILL');
      const verdict = {
        seed: task.seed,
        contradictions: [`the world ends: ${why}`],
        virtualMs: 0,
        cuts: 0,
        troubles: {},
        durable: 0,
        commands: 0,
      };
      resolve({ lived: { verdict, cpuSeconds: 0 }, died: true });
    };
    const onMessage = (lived: unknown): void => {
      finish();
      resolve({ lived: lived as Lived, died: false });
    };
    const onExit = (code: number | null): void => failed(`its process ended with ${code ?? 'a signal'}`);
    const timer = setTimeout(() => failed(`it went on for ${MAX_MS / 60_000} min`), MAX_MS);
    const finish = (): void => {
      clearTimeout(timer);
      child.off('message', onMessage).off('exit', onExit);
    };
    child.on('message', onMessage).on('exit', onExit);
    child.send(task);
  });
}
