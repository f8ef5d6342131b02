/** Configurations that somebody sends from afar: good ones, wrong ones, and such as no agent should take. Drawn from a seed. */
import type { WantedConfiguration } from '../../../src/remote-config/candidate.ts';
import { fileHash } from '../../../src/remote-config/file-hash.ts';
import { applyPatch } from '../../../src/remote-config/patch.ts';
import { type Ground, HELD_LINE } from './ground.ts';

/** What happens to the file beside what it says: the agent crashes on it, cannot read it at the next start, or finds it replaced on its way to root. */
export type Effect = 'crashes' | 'vanishes' | 'forged';

export interface Mutation {
  readonly name: string;
  readonly wanted: WantedConfiguration;
  readonly effect?: Effect | undefined;
}

interface Draw {
  readonly number: (from: number, to: number) => number;
  readonly one: <T>(items: readonly T[]) => T;
  readonly ground: Ground;
}

interface Change {
  readonly set?: Readonly<Record<string, unknown>>;
  readonly remove?: readonly string[];
  readonly add?: Readonly<Record<string, readonly unknown[]>>;
}

type Patched = readonly [weight: number, name: string, change: (draw: Draw) => Change, effect?: Effect];
type Written = readonly [weight: number, name: string, file: (text: string, draw: Draw) => Uint8Array];

const BIG_BYTES = 16 * 1024 * 1024;
const ALIASES = 20_000;
/** The world has 20 °C. */
const routerOff = (when: object, otherwise: object = {}): Change => ({
  add: {
    rules: [
      {
        name: 'saveCurrent',
        when: { sensor: 'board', key: 'boardTemperature', ...when },
        set: { actuator: 'router', value: 'off' },
        ...otherwise,
      },
    ],
  },
});

const PATCHED: readonly Patched[] = [
  [13, 'label', ({ number }) => ({ set: { label: `House ${number(1, 99)}` } })],
  [13, 'period', ({ number }) => ({ set: { 'sensors.roof.period': `${number(2, 59)}s` } })],
  [9, 'deadband', ({ number }) => ({ set: { 'sensors.board.keys.temperature.deadband': number(1, 20) / 10 } })],
  [3, 'log level', ({ one }) => ({ set: { 'log.level': one(['debug', 'warn', 'error']) } })],
  [7, 'tighter limit', ({ number }) => ({ set: { 'actuators.pump.limits.maxOn': `${number(2, 9)}m` } })],
  [
    7,
    'new sensor',
    ({ number }) => ({ add: { sensors: [{ name: `host${number(1, 9)}`, kind: 'host', period: '20s' }] } }),
  ],
  [3, 'sensor removed', () => ({ remove: ['sensors.door'] })],
  [5, 'restart', () => ({ set: { 'actuators.pump.telemetry': false } })],
  [3, 'rule that never holds', ({ number }) => routerOff({ above: number(40, 90) })],
  [4, 'connect timeout', ({ number }) => ({ set: { 'platform.connectTimeout': `${number(3, 60)}s` } })],
  [2, 'free pin', () => ({ set: { 'actuators.pump.line': 'GPIO6' } })],

  [6, 'dead address', ({ one }) => ({ set: { 'sensors.board.address': one([0x49, 0x4a, 0x4b]) } })],
  [5, 'dead line', ({ number }) => ({ set: { 'sensors.door.line': `GPIO${number(18, 21)}` } })],
  [5, 'router off', ({ number }) => routerOff({ above: number(-20, 15) })],
  [3, 'router off, else on', ({ number }) => routerOff({ below: number(25, 60) }, { otherwise: 'on' })],
  [4, 'pin in use', () => ({ set: { 'actuators.pump.line': HELD_LINE } })],
  [3, 'crash', ({ number }) => ({ set: { label: `Crash ${number(1, 99)}` } }), 'crashes'],
  [2, 'crash at a start', () => ({ set: { 'actuators.pump.telemetry': false } }), 'crashes'],
  [3, 'refused at a start', () => ({ set: { 'actuators.pump.telemetry': false } }), 'vanishes'],
  [2, 'refused at a reload', ({ number }) => ({ set: { label: `Gone ${number(1, 99)}` } }), 'vanishes'],
  [
    6,
    'wrong address',
    ({ one }) => ({ set: { 'platform.url': one(['https://iot.example.net', 'https://192.0.2.7']) } }),
  ],
  [5, 'wrong port', ({ number }) => ({ set: { 'platform.url': `https://iot.example.org:${number(1024, 9999)}` } })],
  [5, 'wrong token', ({ ground }) => ({ set: { 'platform.accessTokenFile': ground.path('other-token') } })],
  [5, 'wrong CA', ({ ground }) => ({ set: { 'platform.caFile': ground.path('other-ca.pem') } })],
  [4, 'wrong proxy', ({ ground }) => ({ set: { 'platform.proxyFile': ground.path('proxy') } })],

  [2, 'wider limit', () => ({ set: { 'actuators.pump.limits.maxOn': '20m' } })],
  [1, 'own leave', () => ({ set: { 'remoteConfiguration.allow': ['platform', 'programs', 'outputs'] } })],
  [1, 'unknown member', () => ({ set: { 'sensors.roof.perid': '10s' } })],
  [1, 'program', () => ({ add: { sensors: [{ name: 'run', kind: 'command', command: ['/bin/true'] }] } })],
  [2, 'forged on its way', ({ number }) => ({ set: { label: `Forged ${number(1, 99)}` } }), 'forged'],
];

const WRITTEN: readonly Written[] = [
  [9, 'typing error', (text, draw) => Buffer.from(mistyped(text, draw))],
  [1, '16 MB', (text) => Buffer.concat([Buffer.from(text), Buffer.alloc(BIG_BYTES, '#')])],
  [
    1,
    'aliases',
    (text) => Buffer.from(`${text}templates: { a: &a { label: x } , b: [${'*a, '.repeat(ALIASES)}*a] }\n`),
  ],
  [1, 'no text', (_text, { number }) => Buffer.from(Uint8Array.from({ length: 200 }, () => number(0, 255)))],
];

const TYPED = ' :-{}[]#"abc019.\n\t';
const MAX_SLIPS = 3;

/** Kept before it does anything: no trial sees it. */
const LATE: readonly Patched[] = [
  [20, 'router off, late', ({ number }) => routerOff({ above: number(-20, 15), for: '2m' })],
];

export function drawMutation(
  random: () => number,
  inPlace: Uint8Array,
  { ground, hasLateRules }: { readonly ground: Ground; readonly hasLateRules: boolean },
): Mutation {
  const number = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1));
  const draw: Draw = { number, one: (items) => items[number(0, items.length - 1)] as (typeof items)[number], ground };
  const patches = hasLateRules ? [...PATCHED, ...LATE] : PATCHED;
  let left = random() * [...patches, ...WRITTEN].reduce((sum, [weight]) => sum + weight, 0);
  const isDrawn = ([weight]: Patched | Written): boolean => {
    left -= weight;
    return left < 0;
  };
  const patched = patches.find(isDrawn);
  const base = fileHash(inPlace);
  if (patched !== undefined) {
    const [, name, change, effect] = patched;
    const patch = { base, ...change(draw) };
    const made = random() < 0.4 ? applyPatch(inPlace, patch) : undefined;
    const isFile = made !== undefined && made.faults === undefined;
    return { name, effect, wanted: isFile ? { file: made.bytes, base } : { patch } };
  }
  const [, name, file] = WRITTEN.find(isDrawn) ?? (WRITTEN[0] as Written);
  return { name, wanted: { file: file(Buffer.from(inPlace).toString('utf8'), draw), base } };
}

/** A few slips of a hand: characters left out, doubled, put in, or in the wrong order. */
function mistyped(text: string, { number, one }: Draw): string {
  let typed = text;
  for (let slips = number(1, MAX_SLIPS); slips > 0; slips -= 1) {
    const at = number(0, typed.length - 2);
    const [before, here, next, rest] = [typed.slice(0, at), typed[at], typed[at + 1], typed.slice(at + 2)];
    typed = one([
      `${before}${next}${rest}`,
      `${before}${here}${here}${next}${rest}`,
      `${before}${one([...TYPED])}${next}${rest}`,
      `${before}${next}${here}${rest}`,
    ]);
  }
  return typed;
}
