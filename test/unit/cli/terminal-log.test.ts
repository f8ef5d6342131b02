import { expect, it } from 'vitest';
import { Printer } from '../../../src/cli/printer.ts';
import { terminalLog } from '../../../src/cli/terminal-log.ts';
import { AgentLog } from '../../../src/host/log.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

it('prints what an agent logs in words on a terminal, without its secrets', () => {
  const edge = fakeEdge({ isTerminal: true, environment: { NO_COLOR: '1' } });
  const sink = terminalLog(edge, new Printer(edge, false), false);
  const log = new AgentLog({ level: 'info', clock: new FakeClock({ wallMs: 0 }), ...(sink !== undefined && { sink }) });
  log.hide('a-secret-token');
  log.warn({ sensor: 'roof', error: 'no answer to a-secret-token' }, 'a sensor fails');
  expect(edge.out()).toBe('1970-01-01 00:00:00Z WARN  a sensor fails  sensor=roof error="no answer to [secret]"\n');
});

it('leaves the log as JSON in a pipe, and where that is asked for', () => {
  const [pipe, terminal] = [fakeEdge(), fakeEdge({ isTerminal: true })];
  expect(terminalLog(pipe, new Printer(pipe, false), false)).toBeUndefined();
  expect(terminalLog(terminal, new Printer(terminal, true), true)).toBeUndefined();
});
