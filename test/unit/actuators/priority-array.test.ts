/** The priority array of an output: against a reference that was written from the table, and the table's worked examples. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Writer } from '../../../src/actuators/kind/actuator.ts';
import { arbitrate, filledSlots, reduce } from '../../../src/actuators/priority-array.ts';
import {
  EMPTY_SLOTS,
  type RuleWords,
  type SlotEvent,
  type Slots,
  type Winner,
} from '../../../src/actuators/priority-slots.ts';

type Told = SlotEvent extends infer E ? (E extends SlotEvent ? Omit<E, 'atMs'> : never) : never;

const words = (name: string, changes: Partial<RuleWords> = {}): RuleWords => ({
  name,
  protect: false,
  set: true,
  version: '1',
  ...changes,
});
const command = (
  value: boolean,
  more: { by?: Writer; until?: 'ruleChange' | 'release'; untilMs?: number } = {},
): Told => ({
  kind: 'commanded',
  operator: { value, by: 'rpc', until: 'ruleChange', ...more },
});
const read = (rule: string, holds: boolean): Told => ({ kind: 'read', rule, holds });
const configured = (...rules: readonly RuleWords[]): Told => ({ kind: 'configured', rules });

function slotsAfter(...events: readonly Told[]): Slots {
  return events.reduce<Slots>((slots, event, atMs) => reduce(slots, { ...event, atMs } as SlotEvent), EMPTY_SLOTS);
}
const winner = (...events: readonly Told[]): Winner | undefined => arbitrate(slotsAfter(...events));
const value = (...events: readonly Told[]): unknown => winner(...events)?.value;

/** The table, read aloud: what each slot holds, by name; the rules with what they say. */
class Reference {
  readonly slots: Record<string, boolean | undefined> = {};
  start: boolean | undefined;
  leftBy: string | undefined;
  operator: { remote: boolean; untilMs: number | undefined; heeds: boolean } | undefined;
  goesOff = false;
  readonly rules: { words: RuleWords; said?: boolean; lost?: boolean; barred?: boolean }[] = [];
  constructor(rules: readonly RuleWords[]) {
    for (const each of rules) this.rules.push({ words: each });
  }
  fill = ({ words: { set, otherwise, sensorLost }, said, lost, barred }: Reference['rules'][number]): unknown => {
    const says = lost ? sensorLost : said === undefined ? undefined : said ? set : otherwise;
    return barred && says === true ? undefined : says;
  };
  get together(): unknown {
    const usual = this.rules.filter(({ words: { protect } }) => !protect);
    return (usual.find(({ said }) => said)?.words.set ??
      this.rules.find(({ said, words: { otherwise } }) => said === false && otherwise !== undefined)?.words
        .otherwise) as unknown;
  }
  /** The rule whose value is in force. */
  get winner(): Reference['rules'][number] | undefined {
    const { limit, pulse, operator } = this.slots;
    const protects = this.rules.some(
      (one) => one.words.protect && (one.said || one.lost) && this.fill(one) !== undefined,
    );
    if (limit !== undefined || protects || pulse !== undefined || operator !== undefined) return undefined;
    return this.rules.find((one) => one.said && !one.lost && this.fill(one) !== undefined);
  }
  get order(): unknown[] {
    const { limit, pulse, operator, noContact, base } = this.slots;
    const protects = this.rules.filter(({ words: { protect }, said, lost }) => protect && (said || lost));
    const others = this.rules.filter((one) => !protects.includes(one));
    const [sets, rest] = [
      others.filter(({ said, lost }) => said && !lost),
      others.filter(({ said, lost }) => !said || lost),
    ];
    const filled = [
      limit,
      ...protects.map(this.fill),
      pulse,
      operator,
      ...[...sets, ...rest].map(this.fill),
      noContact,
      base,
    ];
    return filled.filter((one) => one !== undefined);
  }
  take(event: SlotEvent): void {
    const { slots } = this;
    const [hadPulse, togetherBefore] = [slots.pulse, this.together];
    const known = 'rule' in event ? this.rules.find(({ words: { name } }) => name === event.rule) : undefined;
    let mayHeed = false;
    let endsOff = event.kind === 'pulseEnded';
    if (event.kind === 'started')
      [this.start, this.leftBy, slots.base] = [event.start as boolean | undefined, undefined, event.start as never];
    if (event.kind === 'commanded') {
      const { value: wish, by, untilMs, until } = event.operator;
      [slots.operator, this.operator] = [
        wish as boolean,
        { remote: by !== 'local', untilMs, heeds: until === 'ruleChange' },
      ];
      if (wish === false) slots.pulse = undefined;
    }
    if (event.kind === 'released') [slots.operator, slots.pulse] = [undefined, undefined];
    if (event.kind === 'timePassed' && (this.operator?.untilMs ?? Number.POSITIVE_INFINITY) <= event.atMs)
      slots.operator = undefined;
    if (event.kind === 'pulseBegan') slots.pulse = true;
    if (event.kind === 'pulseEnded') slots.pulse = undefined;
    if (event.kind === 'silent') {
      slots.noContact ??= event.value as boolean;
      if (this.operator?.remote) slots.operator = undefined;
    }
    if (event.kind === 'heard') slots.noContact = undefined;
    if (event.kind === 'maxOnEnded') {
      for (const one of this.rules) one.barred ||= this.fill(one) === true;
      for (const name of ['pulse', 'operator', 'noContact', 'base'] as const) if (slots[name]) slots[name] = undefined;
      if (this.start) this.start = undefined;
      slots.limit = false;
    }
    if (event.kind === 'minOffEnded') slots.limit = undefined;
    if (event.kind === 'read' && known !== undefined) {
      const inForce = known.said && !known.lost && !known.barred && !known.words.protect && this.winner === known;
      const leaves = inForce && !event.holds && known.words.otherwise === undefined ? known.words.set : undefined;
      if (leaves !== undefined) [slots.base, this.leftBy] = [leaves as boolean, known.words.name];
      mayHeed = known.said !== undefined;
      if (known.said !== event.holds) known.barred = false;
      [known.said, known.lost] = [event.holds, false];
    }
    if (event.kind === 'sensorLost' && known !== undefined && !known.lost) {
      [known.lost, endsOff] = [true, true];
      if (this.leftBy === known.words.name) [slots.base, this.leftBy] = [this.start, undefined];
    }
    if (mayHeed && this.operator?.untilMs === undefined && this.operator?.heeds && togetherBefore !== this.together)
      slots.operator = undefined;
    if (slots.operator === undefined) this.operator = undefined;
    if (this.order.length > 0) this.goesOff = false;
    else if (endsOff || (hadPulse && !slots.pulse) || this.rules.some(({ lost }) => lost)) this.goesOff = true;
  }
  get value(): unknown {
    return this.order[0] ?? (this.goesOff ? false : undefined);
  }
}

const optional = fc.constantFrom(undefined, false, true);
const someRules = fc
  .array(fc.record({ protect: fc.boolean(), set: fc.boolean(), otherwise: optional, sensorLost: optional }), {
    maxLength: 3,
  })
  .map((rules) => rules.map((rule, at) => ({ ...rule, name: `r${at}`, version: '1' })));
const aRule = fc.constantFrom('r0', 'r1', 'r2');
const someEvent: fc.Arbitrary<Told> = fc.oneof(
  fc
    .record({ value: fc.boolean(), by: fc.constantFrom('rpc' as const, 'local' as const) })
    .map(({ value, by }) => command(value, { by })),
  fc
    .record({ value: fc.boolean(), until: fc.constantFrom('ruleChange' as const, 'release' as const) })
    .map((c) => command(c.value, c)),
  fc.record({ value: fc.boolean(), untilMs: fc.nat(40) }).map((c) => command(c.value, c)),
  fc.constantFrom<Told>(
    { kind: 'pulseEnded' },
    { kind: 'heard' },
    { kind: 'maxOnEnded' },
    { kind: 'minOffEnded' },
    { kind: 'timePassed' },
  ),
  fc.constantFrom<Told>({ kind: 'released', why: 'released' }, { kind: 'pulseBegan', by: 'rpc' }),
  fc.boolean().map((value): Told => ({ kind: 'silent', value })),
  { weight: 4, arbitrary: fc.tuple(aRule, fc.boolean()).map(([rule, holds]) => read(rule, holds)) },
  aRule.map((rule): Told => ({ kind: 'sensorLost', rule })),
);

it('follows the table, whatever comes in whatever order', () => {
  const run = fc.property(someRules, optional, fc.array(someEvent, { maxLength: 40 }), (rules, start, events) => {
    const reference = new Reference(rules);
    let slots = EMPTY_SLOTS;
    for (const [atMs, told] of ([{ kind: 'started', start }, configured(...rules), ...events] as Told[]).entries()) {
      const event = { ...told, atMs } as SlotEvent;
      slots = reduce(slots, event);
      reference.take(event);
      expect(arbitrate(slots)?.value, `after event ${atMs}`).toBe(reference.value);
      // A slot below the highest is seen too.
      expect(filledSlots(slots).map((one) => one.value)).toEqual(reference.order);
    }
  });
  fc.assert(run, { numRuns: 3_000, seed: 19 });
});

const thermostat = words('thermostat', { otherwise: false });
const frost = words('frost', { protect: true, sensorLost: false });

describe('a thermostat with otherwise and a protecting frost rule', () => {
  const cold = [configured(thermostat, frost), read('thermostat', true), read('frost', false)];

  it('goes by the operator who says off until frost begins, and again when it ends', () => {
    expect(winner(...cold)).toMatchObject({ slot: 'rule', value: true, rule: 'thermostat' });
    expect(value(...cold, command(false))).toBe(false);
    expect(winner(...cold, command(false), read('frost', true))).toMatchObject({
      slot: 'protect',
      value: true,
      rule: 'frost',
    });
    expect(winner(...cold, command(false), read('frost', true), read('frost', false))).toMatchObject({
      slot: 'operator',
      value: false,
    });
  });

  it('goes by itself again when what the rules together say changes', () => {
    const warmed = [...cold, command(false), read('thermostat', false), read('thermostat', true)];
    expect(winner(...warmed)).toMatchObject({ slot: 'rule', value: true });
    expect(slotsAfter(...warmed).ended).toMatchObject({ value: false, why: 'ruleChange' });
  });

  it.each([{ until: 'release' as const }, { untilMs: 100 }])('leaves it to an operator with %j', (more) => {
    expect(value(...cold, command(true, more), read('thermostat', false))).toBe(true);
  });

  it('is no change for an operator by a lost sensor or a reload', () => {
    const lost = [...cold, command(true), { kind: 'sensorLost', rule: 'thermostat' } as const];
    expect(winner(...lost)).toMatchObject({ slot: 'operator', value: true });
    expect(winner(...lost, read('thermostat', true))).toMatchObject({ slot: 'operator' });
    expect(winner(...lost, configured({ ...thermostat, version: '2' }, frost))).toMatchObject({ slot: 'operator' });
    expect(winner(...lost, configured(frost))?.slot).toBeUndefined();
  });
});

describe('a rule whose sensor dies', () => {
  const pump = words('level');
  const lost = { kind: 'sensorLost', rule: 'level' } as const;

  it('goes off with nothing filled, and by sensorLost where it has one', () => {
    expect(winner(configured(pump), read('level', true), lost)).toMatchObject({ slot: 'none', value: false });
    const told = { ...pump, sensorLost: true };
    expect(winner(configured(told), read('level', true), lost)).toMatchObject({ slot: 'rule', value: true });
  });

  it('takes what it has left in base back to the state for the start', () => {
    const left = [
      { kind: 'started', start: false } as const,
      configured(pump),
      read('level', true),
      read('level', false),
    ];
    expect(winner(...left)).toMatchObject({ slot: 'base', value: true, rule: 'level' });
    expect(winner(...left, lost)).toMatchObject({ slot: 'base', value: false });
    expect(winner(...left, configured())).toMatchObject({ slot: 'base', value: false });
  });

  it('has its word again with the next reading', () => {
    expect(value(configured(pump), read('level', true), lost, read('level', true))).toBe(true);
  });
});

describe('a test pulse while an operator says off and a rule says on', () => {
  const before = [configured(thermostat), read('thermostat', true), command(false)];

  it('is on, and the operator’s off stands again after it', () => {
    const pulsing = [...before, { kind: 'pulseBegan', by: 'local' } as const];
    expect(value(...pulsing)).toBe(true);
    expect(winner(...pulsing, { kind: 'pulseEnded' })).toMatchObject({ slot: 'operator', value: false });
  });

  it('is ended by no rule, and by an off and a release', () => {
    const pulsing = [configured(thermostat), read('thermostat', false), { kind: 'pulseBegan', by: 'rpc' } as const];
    expect(winner(...pulsing, read('thermostat', true), read('thermostat', false))).toMatchObject({ slot: 'pulse' });
    expect(winner(...pulsing, command(false))).toMatchObject({ slot: 'operator' });
    expect(winner(...pulsing, { kind: 'released', why: 'released' })).toMatchObject({ slot: 'rule' });
  });

  it('goes off with nothing below it', () => {
    expect(value({ kind: 'pulseBegan', by: 'rpc' }, { kind: 'pulseEnded' })).toBe(false);
  });
});

describe('maxOn under two rules that still hold', () => {
  const limited = [
    configured(words('a'), words('b')),
    read('a', true),
    read('b', true),
    command(true),
    { kind: 'maxOnEnded' } as const,
  ];

  it('is off, and stays so until one of them begins anew', () => {
    expect(winner(...limited)).toMatchObject({ slot: 'limit', value: false });
    expect(filledSlots(slotsAfter(...limited, { kind: 'minOffEnded' }))).toEqual([]);
    expect(value(...limited, { kind: 'minOffEnded' }, read('b', false), read('b', true))).toBe(true);
  });

  it.each([
    ['is lost after it', words('a'), [{ kind: 'maxOnEnded' }, { kind: 'sensorLost', rule: 'a' }]],
    [
      'is lost before it',
      words('a', { sensorLost: true }),
      [{ kind: 'sensorLost', rule: 'a' }, { kind: 'maxOnEnded' }],
    ],
    ['holds a number', words('a', { set: 60 }), [{ kind: 'maxOnEnded' }, { kind: 'sensorLost', rule: 'a' }]],
  ] as const)(
    'does not begin anew with the return of a sensor that %s, but with its condition',
    (_name, rule, ended) => {
      const returned = [configured(rule), read('a', true), ...ended, { kind: 'minOffEnded' } as const, read('a', true)];
      expect(filledSlots(slotsAfter(...returned))).toEqual([]);
      expect(slotsAfter(...returned).rules).toMatchObject([{ phase: 'set', isLost: false, isBarred: true }]);
      expect(value(...returned, read('a', true))).not.toBe(rule.set);
      expect(value(...returned, read('a', false), read('a', true))).toBe(rule.set);
    },
  );

  it('does not come back with the next start, and says what has ended', () => {
    expect(slotsAfter(...limited)).toMatchObject({ left: false, ended: { value: true, why: 'maxOn' } });
  });

  it('leaves what says off', () => {
    expect(winner(command(false), { kind: 'maxOnEnded' }, { kind: 'minOffEnded' })).toMatchObject({
      slot: 'operator',
      value: false,
    });
  });
});

describe('contact lost under an operator’s on', () => {
  const silent = { kind: 'silent', value: false } as const;

  it('is the value for it, then what stood below, and the operator’s word is gone for good', () => {
    expect(winner(command(true), silent)).toMatchObject({ slot: 'noContact', value: false });
    expect(winner(command(true), silent, { kind: 'heard' })).toBeUndefined();
    expect(slotsAfter(command(true), silent)).toMatchObject({ left: undefined, ended: { why: 'no contact' } });
  });

  it('is the rule’s where one speaks, and an operator’s on site', () => {
    expect(value(configured(thermostat), read('thermostat', true), command(true), silent)).toBe(true);
    expect(value(command(true, { by: 'local' }), silent)).toBe(true);
  });
});

it('two rules are a latch: on below 20, off above 80, and so it stays between', () => {
  const latch = [configured(words('fill'), words('full', { set: false })), read('full', false)];
  expect(value(...latch, read('fill', true), read('fill', false))).toBe(true);
  expect(value(...latch, read('fill', true), read('fill', false), read('full', true), read('full', false))).toBe(false);
});

it('of several rules all that hold come before all that say otherwise, in the order of the file', () => {
  const rules = configured(
    words('a', { set: true, otherwise: true }),
    words('b', { set: false }),
    words('c', { set: true }),
  );
  expect(winner(rules, read('a', false), read('b', true), read('c', true))).toMatchObject({ rule: 'b', value: false });
});

describe('a rule that a technician adds', () => {
  const light = words('light', { version: '2' });

  it('ends an older command by its first reading', () => {
    expect(winner(command(false), configured(light), read('light', true))).toMatchObject({ slot: 'rule', value: true });
  });

  it('leaves a command that came after it', () => {
    expect(winner(configured(light), command(false), read('light', true))).toMatchObject({
      slot: 'operator',
      value: false,
    });
  });
});
