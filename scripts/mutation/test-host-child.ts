/**
 * A warm vitest in a process of its own, which can be killed when a mutant never ends: takes one order after the other and answers each
 * with a verdict. What it has compiled stays; each test file gets a fresh process.
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createVitest, type Reporter, type TestModule, type TestSpecification } from 'vitest/node';
import { ORDER_FILE, type Order, type TestFileResult, type Verdict } from './order.ts';

/** A test's, or a test process' that does not start or end in time: that may be this machine's fault. */
const TIME_LIMIT = /^(Test|Hook) timed out in |^\[vitest-pool\]: (Timeout|Failed to (start|terminate)) /;

/** Each one costs its whole limit. */
const MAX_LATE = 3;

class InGivenOrder {
  sort(given: TestSpecification[]): TestSpecification[] {
    return given;
  }
  shard(given: TestSpecification[]): TestSpecification[] {
    return given;
  }
}

let order: Order = { changed: {}, tests: [], testTimeoutMs: 0, stopAtFailure: false };
let failure: Omit<Verdict, 'files'> | undefined;
let files: TestFileResult[] = [];
let late = 0;

const reporter: Reporter = {
  onTestCaseResult(test) {
    const { errors } = test.result();
    if (errors === undefined || errors.length === 0) return;
    const isLate = errors.every(({ message }) => TIME_LIMIT.test(message));
    note(
      isLate ? 'timed-out' : 'failed',
      `${test.module.relativeModuleId}: ${test.fullName}: ${errors[0]?.message ?? ''}`,
      test.module,
    );
  },
  onTestModuleEnd(module) {
    const faults = [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())];
    const isLate = faults.every(({ message }) => TIME_LIMIT.test(message));
    const outcome = module.children.size === 0 ? 'unloadable' : isLate ? 'timed-out' : 'failed';
    if (faults.length > 0) note(outcome, `${module.relativeModuleId}: ${faults[0]?.message ?? ''}`, module);
    files.push(resultOf(module));
  },
};

const vitest = await createVitest(
  'test',
  {
    watch: false,
    // It remembers what became of a text by the text alone, also for runs that are none of ours.
    fsModuleCache: false,
    reporters: [reporter],
    maxWorkers: 1,
    setupFiles: [`${import.meta.dirname}/in-each-test-file.ts`],
    sequence: { sequencer: InGivenOrder },
    coverage: { enabled: false },
  },
  {
    cacheDir: join(tmpdir(), 'vite'),
    server: { watch: null },
    plugins: [{ name: 'turnstone-mutants', enforce: 'pre', transform: (_text, id) => order.changed[id] }],
  },
  // Output of tests with a mutant in them is of no interest.
  { stdout: nowhere(), stderr: nowhere() },
);
await vitest.standalone();
process.on('message', (next) => void carryOut(next as Order));
// The runner is gone; nothing that was started here may outlive it.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));
process.send?.('ready');

async function carryOut(next: Order): Promise<void> {
  for (const file of [...Object.keys(order.changed), ...Object.keys(next.changed)]) vitest.invalidateFile(file);
  order = next;
  failure = undefined;
  files = [];
  late = 0;
  writeFileSync(process.env[ORDER_FILE] ?? '', JSON.stringify(order));
  const project = vitest.getRootProject();
  project.config.testTimeout = order.testTimeoutMs;
  project.config.hookTimeout = order.testTimeoutMs;
  await vitest.runTestSpecifications(order.tests.map((file) => project.createSpecification(file)));
  const [unhandled] = vitest.state.getUnhandledErrors();
  if (unhandled !== undefined && failure === undefined) {
    const { message } = unhandled as Error;
    note(TIME_LIMIT.test(message) ? 'timed-out' : 'failed', `unhandled: ${message}`);
  }
  process.send?.({ ...(failure ?? { outcome: 'passed', because: '' }), files } satisfies Verdict);
}

/** The first failure decides; one by a time limit only when no other follows soon. */
function note(outcome: Verdict['outcome'], because: string, module?: TestModule): void {
  if (failure !== undefined && failure.outcome !== 'timed-out') return;
  if (outcome === 'timed-out') late++;
  if (failure === undefined || outcome !== 'timed-out')
    failure = { outcome, because, ...(module === undefined ? {} : { decidedIn: module.moduleId }) };
  if (!order.stopAtFailure || (outcome === 'timed-out' && late < MAX_LATE)) return;
  // The second time it does not wait for the running test.
  void vitest.cancelCurrentRun('test-failure');
  void vitest.cancelCurrentRun('test-failure');
}

function resultOf(module: TestModule): TestFileResult {
  const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } = module.diagnostic();
  const ms = environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration;
  const slowestTestMs = Math.max(0, ...[...module.children.allTests()].map((test) => test.diagnostic()?.duration ?? 0));
  const [because = ''] = [
    ...[...module.children.allTests()].flatMap(
      (test) => test.result().errors?.map(({ message }) => `${test.fullName}: ${message}`) ?? [],
    ),
    ...module.errors().map(({ message }) => message),
  ];
  return { file: module.moduleId, ms, slowestTestMs, failed: !module.ok(), because };
}

function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
