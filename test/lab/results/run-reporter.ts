/** Closes a run with its counts in one line, and writes the result file after a whole run with full counts. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Reporter, TestModule } from 'vitest/node';
import { accelerator } from '../machine.ts';
import { readFigures } from './figures.ts';
import { gather, type LabRun, RESULT_FILE } from './lab-run.ts';

export class RunReporter implements Reporter {
  #startedMs = 0;

  onTestRunStart(): void {
    this.#startedMs = performance.now();
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const tests = { passed: 0, failed: unhandled.length, skipped: 0 };
    for (const module of modules) {
      if (module.children.size === 0 || module.errors().length > 0) tests.failed += 1;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        // A test that never ran, because what it stands on failed, is no pass and not left out on purpose.
        tests[state === 'pending' ? 'failed' : state] += 1;
      }
    }
    console.log(`${tests.passed} passed, ${tests.failed} failed, ${tests.skipped} skipped`);
    this.#writeResult(tests);
  }

  #writeResult(tests: LabRun['tests']): void {
    const { LAB_RUN, LAB_WHOLE, LAB_FIGURES } = process.env;
    if (LAB_RUN !== 'full' || LAB_WHOLE === undefined || LAB_FIGURES === undefined) return;
    const about = {
      commit: git('rev-parse', 'HEAD'),
      changed: git('status', '--porcelain', '--untracked-files=no') !== '',
      date: new Date().toISOString().slice(0, 10),
      minutes: Math.round((performance.now() - this.#startedMs) / 60_000),
      machine: `${availableParallelism()} cores, ${accelerator() === 'kvm' ? 'KVM' : 'software emulation'}`,
      tests,
    };
    writeFileSync(RESULT_FILE, `${JSON.stringify(gather(about, readFigures(LAB_FIGURES)), undefined, 2)}\n`);
  }
}

function git(...words: readonly string[]): string {
  return execFileSync('git', words, { encoding: 'utf8' }).trim();
}
