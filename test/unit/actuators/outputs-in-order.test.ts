/** Outputs over rules and commands in an order that people meet: what was taken back, left, refused or lost does not move them later. */
import { describe, expect, it } from 'vitest';
import { ActuatorBench } from '../../support/actuator-bench.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { pump, RuleBench, rule } from '../../support/rule-bench.ts';

const never = new AbortController().signal;

describe('a value that was taken back, and a sensor that is lost', () => {
  it('with restore, what was released does not come back after a restart of the agent', async () => {
    const b = new RuleBench();
    const s = pump({ restore: true, safe: { start: false } });
    await b.open([], s);
    await b.bench.set('pump', true);
    expect(b.shown).toBe(true);
    void b.bench.control.release('pump');
    await b.bench.clock.advance(0);
    expect(b.shown).toBe(false);
    await b.restart([], s);
    await b.bench.clock.advance(10_000);
    expect([b.shown, b.bench.control.find('pump')?.reason.why]).toEqual([
      false,
      expect.stringMatching(/^off, its state for the start; operator's on \(rpc\) ended by a release/),
    ]);
  });

  it('with restore, what a rule change ended does not come back after a restart of the agent', async () => {
    const b = new RuleBench();
    const s = pump({ restore: true, safe: { start: false } });
    const r = [rule('hot', false)];
    await b.open(r, s);
    await b.after({ hot: 0 });
    await b.bench.set('pump', true);
    expect(await b.after({ hot: 20 })).toBe(false);
    expect(await b.after({ hot: 0 })).toBe(false);
    await b.restart(r, s);
    await b.bench.clock.advance(10_000);
    expect([b.shown, b.bench.control.find('pump')?.reason.why]).toEqual([
      false,
      expect.stringMatching(/^off, as rule hot left it; operator's on \(rpc\) ended by a rule that changed its mind/),
    ]);
  });

  it('with restore, a time that is over does not come back after a restart', async () => {
    const b = new RuleBench();
    const s = pump({ restore: true, safe: { start: false } });
    await b.open([], s);
    await b.bench.control.set('pump', true, { by: 'rpc', forMs: 60_000 }, new AbortController().signal);
    await b.bench.clock.advance(61_000);
    expect(b.shown).toBe(false);
    await b.restart([], s);
    await b.bench.clock.advance(10_000);
    expect([b.shown, b.bench.control.find('pump')?.reason.why]).toEqual([
      false,
      expect.stringMatching(/^off, its state for the start; operator's on \(rpc\) ended by its time/),
    ]);
  });

  it('has its time counted again after a lost sensor', async () => {
    const b = new RuleBench();
    const one = rule('hot', true);
    const r = [{ ...one, when: { ...one.when, forMs: 60_000 } }];
    await b.open(r as never, pump({ safe: { start: false } }));
    expect(await b.after({ hot: 20 }, 50_000)).toBe(false);
    expect(await b.after({ hot: 20 }, 20_000)).toBe(true);
    await b.bench.clock.advance(3_600_000);
    expect(b.shown).toBe(false);
    expect(await b.after({ hot: 20 }, 10_000)).toBe(false);
  });

  it('a rule changed in its hysteresis, that says on before and after, does not end an off', async () => {
    const b = new RuleBench();
    const one = rule('hot', true, false);
    await b.open([one], pump());
    await b.after({ hot: 20 });
    await b.bench.set('pump', false);
    await b.after({ hot: 20 });
    b.rules.configure([{ ...one, when: { ...one.when, hysteresis: 1 } } as never]);
    expect(await b.after({ hot: 20 }, 30_000)).toBe(false);
  });

  it('a release while the sensor of the rule is lost and nothing is filled switches off', async () => {
    const b = new RuleBench();
    await b.open([rule('hot', true)], pump());
    await b.after({ hot: 20 });
    await b.bench.set('pump', true);
    await b.bench.clock.advance(120_000);
    expect(b.shown).toBe(true);
    void b.bench.control.release('pump');
    await b.bench.clock.advance(60_000);
    expect(b.shown).toBe(false);
  });

  it('a time that ends while the sensor of the rule is lost and nothing is filled switches off', async () => {
    const b = new RuleBench();
    await b.open([rule('hot', true)], pump());
    await b.after({ hot: 20 });
    await b.bench.control.set('pump', true, { by: 'local', forMs: 600_000 }, new AbortController().signal);
    await b.bench.clock.advance(1_200_000);
    expect(b.shown).toBe(false);
  });
});

describe('a value that a rule has left', () => {
  it('a heating rule whose own sensor is lost goes back to the start state, whatever a frost rule did yesterday', async () => {
    const b = new RuleBench();
    const s = pump({ safe: { start: false } });
    const heat = rule('heat', true, false);
    const frost = { ...rule('frost', true), protect: true, sensorLost: false } as never;
    await b.open([heat, frost], s);
    await b.after({ heat: 20, frost: 20 });
    await b.after({ heat: 20, frost: 0 });
    // A warm day: heat says off.
    expect(await b.after({ heat: 0, frost: 0 }, 3_600_000)).toBe(false);
    // The sensor of heat dies, that of frost goes on.
    const shown = await b.after({ frost: 0 }, 120_000);
    expect([shown, b.bench.control.find('pump')?.reason.why]).toEqual([false, 'off, its state for the start']);
  });

  it('release after frost has ended: what was off before frost is off', async () => {
    const b = new RuleBench();
    const s = pump({ safe: { start: false } });
    const frost = { ...rule('frost', true), protect: true, sensorLost: false } as never;
    await b.open([frost], s);
    await b.after({ frost: 0 });
    await b.bench.set('pump', false);
    await b.after({ frost: 20 });
    expect(b.shown).toBe(true);
    expect(await b.after({ frost: 0 })).toBe(false);
    void b.bench.control.release('pump');
    expect([await b.after({ frost: 0 }), b.bench.control.find('pump')?.reason.why]).toEqual([
      false,
      expect.stringMatching(/^off, its state for the start; operator's off \(rpc\) ended by a release/),
    ]);
  });

  it('a value that the limit ended does not come back as base of a rule', async () => {
    const b = new RuleBench();
    const s = pump({ safe: { start: false }, limits: { maxOnMs: 600_000, minOffMs: 60_000 } });
    await b.open([rule('fill', true)], s);
    await b.after({ fill: 20 }, 700_000);
    expect(await b.after({ fill: 20 }, 120_000)).toBe(false);
    expect([await b.after({ fill: 0 }, 60_000), b.bench.control.find('pump')?.reason.why]).toEqual([
      false,
      'off, its state for the start',
    ]);
  });

  it('a command of the operator is kept by a kill directly after its answer', async () => {
    const b = new RuleBench();
    const r = [rule('hot', true, false)];
    await b.open(r, pump());
    await b.after({ hot: 20 });
    await b.bench.control.set('pump', false, { by: 'rpc' }, never);
    await b.kill(1_000, r, pump());
    expect(await b.after({ hot: 20 }, 20_000)).toBe(false);
  });
});

describe('a command that the hardware refuses', () => {
  it("a rule's wish that waits for the hardware is still tried after an operator's on has failed", async () => {
    const b = new RuleBench();
    await b.open([rule('hot', true, false)], pump());
    await b.after({ hot: 0 });
    b.isMute = true;
    await b.after({ hot: 20 }, 20_000);
    const failed = await b.bench.set('pump', true);
    await b.after({ hot: 20 }, 20_000);
    b.isMute = false;
    const shown = await b.after({ hot: 20 }, 120_000);
    expect([failed, shown, b.bench.control.find('pump')?.reason.why]).toEqual([
      'no answer',
      true,
      expect.stringMatching(/^on, because rule hot set it/),
    ]);
  });

  it('is tried for a rule without an operator', async () => {
    const b = new RuleBench();
    await b.open([rule('hot', true, false)], pump());
    await b.after({ hot: 0 });
    b.isMute = true;
    await b.after({ hot: 20 }, 40_000);
    b.isMute = false;
    expect(await b.after({ hot: 20 }, 120_000)).toBe(true);
  });

  it("a rule that says on has its output on once an operator's off is released, after an on that failed once", async () => {
    const b = new RuleBench();
    await b.open([rule('hot', true, false)], pump());
    await b.after({ hot: 20 });
    await b.bench.set('pump', false);
    await b.after({ hot: 20 });
    b.isMute = true;
    const failed = await b.bench.set('pump', true);
    b.isMute = false;
    expect(await b.after({ hot: 20 }, 120_000)).toBe(false);
    await b.bench.control.release('pump');
    const shown = await b.after({ hot: 20 });
    expect([failed, shown, b.bench.control.find('pump')?.reason.why]).toEqual([
      'no answer',
      true,
      expect.stringMatching(/^on, because rule hot set it/),
    ]);
  });

  it("a wish of base (safe.start: on) once an operator's off is released, after a failed on", async () => {
    const b = new ActuatorBench();
    await b.open(relaySettings('pump', { safe: { start: true } }));
    await b.clock.advance(1_000);
    await b.set('pump', false);
    b.fake('pump').beforeWrite = () => {
      throw new Error('bus');
    };
    await b.set('pump', true);
    b.fake('pump').beforeWrite = () => {};
    await b.clock.advance(120_000);
    expect(b.fake('pump').shown).toBe(false);
    await b.control.release('pump');
    expect([b.fake('pump').shown, b.control.find('pump')?.reason.why]).toEqual([
      true,
      expect.stringMatching(/^on, its state for the start/),
    ]);
  });

  it('release while a rule on waits for minOff: goes on when it is over', async () => {
    const b = new RuleBench();
    await b.open([rule('hot', true, false)], pump({ limits: { minOffMs: 60_000 } }));
    await b.after({ hot: 20 }, 70_000);
    expect(b.shown).toBe(true);
    await b.bench.set('pump', false);
    await b.after({ hot: 20 });
    void b.bench.control.release('pump');
    await b.after({ hot: 20 });
    expect(b.shown).toBe(false);
    expect(await b.bench.set('pump', true)).toBe('actuators/min-off');
    expect(await b.after({ hot: 20 }, 70_000)).toBe(true);
  });

  it('an aborted command (rpc deadline) above a rule that says on', async () => {
    const b = new RuleBench();
    await b.open([rule('hot', true, false)], pump());
    await b.after({ hot: 20 });
    await b.bench.set('pump', false);
    const c = new AbortController();
    c.abort();
    const r = await b.bench.set('pump', true, { signal: c.signal });
    expect([r, await b.after({ hot: 20 }, 30_000), b.bench.control.find('pump')?.reason.why]).toEqual([
      'actuators/given-up',
      false,
      expect.stringContaining('operator'),
    ]);
  });

  it('a pulse that fails at the hardware above a rule... off: goes off, and a second pulse passes', async () => {
    const b = new ActuatorBench();
    await b.open(relaySettings('pump'));
    b.fake('pump').beforeWrite = () => {
      throw new Error('bus');
    };
    const r = await b.pulse('pump', 500);
    b.fake('pump').beforeWrite = () => {};
    await b.clock.advance(20_000);
    expect([r, b.fake('pump').shown, b.control.find('pump')?.reason.slots]).toEqual(['bus', false, []]);
  });
});

describe('a command that the hardware fails', () => {
  const HOUR_MS = 3_600_000;

  it('leaves the one with a time that stood before it, and what is left of its time', async () => {
    const b = new RuleBench();
    await b.open([rule('heat', true, false)], pump());
    expect(await b.after({ heat: 90 })).toBe(true);
    await b.bench.control.set('pump', false, { by: 'rpc', forMs: HOUR_MS }, never);
    b.isMute = true;
    expect(await b.bench.set('pump', true)).not.toBe('moved');
    b.isMute = false;
    expect(await b.after({ heat: 90 }, HOUR_MS / 2)).toBe(false);
    expect(b.bench.control.find('pump')?.reason.why).toMatch(/^off, because the operator \(rpc\) said so/);
    expect(await b.after({ heat: 90 }, HOUR_MS / 2)).toBe(true);
  });

  it('leaves the number that stood before it, and writes that again where nobody knows what is shown', async () => {
    const bench = new ActuatorBench();
    const out = bench.deaf('out');
    await bench.open(relaySettings('out', { valueType: 'number' }));
    await bench.control.set('out', 50, { by: 'rpc', forMs: HOUR_MS }, never);
    out.beforeWrite = (value) => {
      if (value !== 50) throw new Error('exit code 1');
    };
    expect(await bench.set('out', 60)).toBe('exit code 1');
    await bench.clock.advance(10_000);
    expect([out.told, bench.control.find('out')?.slots.operator?.value]).toEqual([[50, 50], 50]);
    expect(bench.control.movements('out')).toBe(2);
  });

  it('leaves nothing of a failed one that it came after, of a rule that changed, nor of a pulse', async () => {
    const b = new RuleBench();
    await b.open([rule('heat', true, false)], pump());
    await b.after({ heat: 0 });
    await b.bench.control.set('pump', false, { by: 'rpc' }, never);
    const fake = b.bench.fake('pump');
    const held = Promise.withResolvers<void>();
    fake.beforeWrite = async () => {
      await held.promise;
      throw new Error('no answer');
    };
    const failed = [b.bench.set('pump', true), b.bench.pulse('pump', 500), b.bench.set('pump', true)];
    b.rules.take('heat', 'value', 90);
    b.rules.take('heat', 'value', 0);
    held.resolve();
    await b.bench.clock.advance(60_000);
    expect(await Promise.all(failed)).not.toContain('moved');
    expect(b.bench.control.find('pump')?.slots).toMatchObject({ operator: undefined, pulse: undefined });
  });
});
