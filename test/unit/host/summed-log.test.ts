import { beforeEach, describe, expect, it } from 'vitest';
import { SummedLog } from '../../../src/host/summed-log.ts';
import { FakeClock } from '../../support/fake-clock.ts';

let clock: FakeClock;
let lines: string[];
let log: SummedLog;

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  log = new SummedLog({
    clock,
    tell: (level, fields, message) => void lines.push(`${level} ${JSON.stringify(fields)} ${message}`),
  });
});

describe('a summed log', () => {
  it('tells 20 lines of a message at once, then two a minute, and of the others their number', async () => {
    for (let n = 0; n < 600; n += 1) {
      log.logMessage('info', { n }, 'often');
      await clock.advance(1_000);
    }
    await clock.advance(60_000);
    expect(lines.slice(18, 22)).toEqual([
      'info {"n":18} often',
      'info {"n":19} often',
      'info {"n":30} often',
      'info {"n":60} often',
    ]);
    const sums = lines.filter((line) => line.includes('more of the same'));
    expect(sums).toEqual([`info {"message":"often","times":${600 - (lines.length - sums.length)}} more of the same`]);
    expect(lines.length - sums.length).toBe(39);
  });

  it('tells a message that never ends no more than 150 times an hour', async () => {
    for (let n = 0; n < 7_200; n += 1) {
      log.logMessage('error', { n }, 'often');
      await clock.advance(500);
    }
    expect(lines.length).toBeLessThanOrEqual(150);
  });

  it('lets no flood take the place of another message, or of the same at another level', () => {
    for (let n = 0; n < 100; n += 1) log.logMessage('info', {}, 'often');
    log.logMessage('info', {}, 'seldom');
    for (const level of ['debug', 'warn', 'error'] as const) log.logMessage(level, {}, 'often');
    expect(lines.slice(20)).toEqual(['info {} seldom', 'debug {} often', 'warn {} often', 'error {} often']);
  });

  it('tells all that is told for whoever looks for a fault', () => {
    for (let n = 0; n < 100; n += 1) log.logMessage('debug', {}, 'often');
    expect(lines).toHaveLength(100);
  });

  it('tells what is left when it is closed, once, and leaves no timer', () => {
    for (let n = 0; n < 21; n += 1) log.logMessage('warn', {}, 'often');
    log.close();
    log.close();
    expect([lines.length, lines.at(-1), clock.pending]).toEqual([
      21,
      'warn {"message":"often","times":1} more of the same',
      0,
    ]);
  });

  it('says nothing more and leaves no timer where everything was told', () => {
    for (let n = 0; n < 20; n += 1) log.logMessage('error', {}, 'often');
    expect([lines.length, clock.pending]).toEqual([20, 0]);
  });

  it('keeps a bounded number of messages apart, and tells what is left of those that it forgets', () => {
    for (let n = 0; n < 23; n += 1) log.logMessage('warn', {}, 'first');
    for (let n = 0; n < 600; n += 1) log.logMessage('warn', {}, `message ${n}`);
    expect(lines).toContain('warn {"message":"first","times":3} more of the same');
    expect(clock.pending).toBe(0);
  });
});
