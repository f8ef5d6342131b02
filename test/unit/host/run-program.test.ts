import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import { type Program, runProgram } from '../../../src/host/run-program.ts';
import { fillArguments } from '../../../src/values/argument-template.ts';

const never = new AbortController().signal;
const sh = (script: string, more: Partial<Program> = {}): Program => ({
  file: '/bin/sh',
  args: ['-c', script],
  deadlineMs: 5_000,
  ...more,
});
const run = (program: Program, signal = never) => runProgram(program, systemClock, signal);

describe('a program', () => {
  it('gives its output, its errors and its exit code', async () => {
    expect(await run(sh('echo out; echo err >&2; exit 3'))).toEqual({
      exitCode: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      cut: false,
    });
  });

  it('is told nothing of the agent’s own environment, in which secrets arrive', async () => {
    process.env.TURNSTONE_TEST_SECRET = 'secret';
    onTestFinished(() => void delete process.env.TURNSTONE_TEST_SECRET);
    const { stdout } = await run({ file: '/usr/bin/env', args: [], deadlineMs: 5_000, environment: { OWN: 'given' } });
    expect(stdout.trimEnd().split('\n').sort()).toEqual([
      'LANG=C.UTF-8',
      'OWN=given',
      expect.stringMatching(/^PATH=\/usr/),
    ]);
  });

  it('reads what it is given, and may leave it unread', async () => {
    expect(await run(sh('cat', { input: 'given' }))).toMatchObject({ stdout: 'given' });
    expect(await run(sh('exit 0', { input: 'x'.repeat(1_000_000) }))).toMatchObject({ exitCode: 0 });
  });

  it('has its output cut, however much it says', async () => {
    const { stdout, cut } = await run(sh('yes | head -c 1000000', { maxOutputBytes: 100 }));
    expect([stdout.length, cut]).toEqual([100, true]);
    const last = await run(sh('seq 100000', { maxOutputBytes: 100, keeps: 'last' }));
    expect([last.stdout.length, last.stdout.endsWith('\n99999\n100000\n'), last.cut]).toEqual([100, true, true]);
    expect(await run(sh('echo all', { maxOutputBytes: 4, keeps: 'last' }))).toMatchObject({
      stdout: 'all\n',
      cut: false,
    });
  });

  it('is ended at its deadline with all that it started', async () => {
    const startedMs = performance.now();
    await expect(run(sh('sleep 60 & sleep 60', { deadlineMs: 100 }))).rejects.toMatchObject({
      code: 'host/program-deadline',
    });
    expect(performance.now() - startedMs).toBeLessThan(3_000);
  });

  it('is over a moment after its end, whoever holds its output: a daemon with a session of its own lives on', async () => {
    const startedMs = performance.now();
    const { stdout, exitCode } = await run(sh('echo out; setsid sh -c "sleep 5; echo late" & exit 3'));
    expect([stdout, exitCode, performance.now() - startedMs < 4_000]).toEqual(['out\n', 3, true]);
  });

  it('is over at its deadline, although a child that left its group holds its output', async () => {
    const startedMs = performance.now();
    await expect(run(sh('setsid sleep 5 & sleep 60', { deadlineMs: 100 }))).rejects.toMatchObject({
      code: 'host/program-deadline',
    });
    expect(performance.now() - startedMs).toBeLessThan(4_000);
  });

  it('is ended when nobody waits any more, and not begun when nobody does', async () => {
    const stop = new AbortController();
    const running = run(sh('sleep 60'), stop.signal);
    setTimeout(() => stop.abort(), 50);
    await expect(running).rejects.toMatchObject({ code: 'host/program-deadline' });
    await expect(run(sh('echo'), stop.signal)).rejects.toMatchObject({ code: 'host/program-deadline' });
  });

  it('tells by which signal it was ended, and that it is not there', async () => {
    expect(await run(sh('kill -TERM $$'))).toMatchObject({ endedBySignal: 'SIGTERM' });
    await expect(run({ file: '/nonexistent', args: [], deadlineMs: 100 })).rejects.toMatchObject({
      code: 'host/program-not-started',
    });
  });
});

describe('an argument list', () => {
  it('takes values by name, each within its own argument', () => {
    expect(fillArguments(['-n', '{a}', 'x={b}'], { a: 'two words', b: true })).toEqual(['-n', 'two words', 'x=1']);
    expect(fillArguments(['{long}', '{zero}'], { long: 2n ** 60n, zero: 0 })).toEqual(['1152921504606846976', '0']);
  });

  it('refuses what is missing, no plain value, an option, or holds a NUL', () => {
    for (const value of [undefined, null, {}, ['a'], '-rf', '--force', 'a\0b'])
      expect(() => fillArguments(['{a}'], value === undefined ? {} : { a: value })).toThrow();
    expect(() => fillArguments(['{constructor}'], {})).toThrow();
    expect(fillArguments(['--level={a}', '{b}'], { a: '-1', b: '-1.5' })).toEqual(['--level=-1', '-1.5']);
  });
});
