/** Texts just under a megabyte, or as long as it takes, that cost a parser or a checker more than they look like. */
import { SMALLEST } from './config-file.ts';

/** With room for the end of a text. */
const MEGABYTE = 1_000_000 - 32;
const filled = (piece: string, start = ''): string =>
  start + piece.repeat(Math.floor((MEGABYTE - start.length - 1) / piece.length));
const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join('');
/** How a configuration names an environment variable. */
const variable = (name: string): string => `\${${name}}`;
const cut = (text: string): string => text.slice(0, MEGABYTE);

export const EXPENSIVE: Readonly<Record<string, () => string>> = {
  'unknown keys': () => SMALLEST + lines(20_000, (index) => `k${index}: 1\n`),
  'keys without end': () => cut(SMALLEST + lines(100_000, (index) => `k${index}:\n`)),
  'keys of one sensor': () =>
    SMALLEST + cut(`sensors:\n - name: a\n   kind: host\n   keys:\n${lines(18_000, (index) => `    k${index}: 1\n`)}`),
  'items in a list': () => `${SMALLEST}sensors:\n${lines(200_000, () => '- a\n')}`,
  'items in brackets': () => `${SMALLEST}sensors: [${'{},'.repeat(200_000)}]\n`,
  'double quotes': () => filled('"', 'a: '),
  'single quotes': () => filled("'", 'a: '),
  'empty texts': () => filled('""\n'),
  'unknown tags': () => `${SMALLEST}x:\n${lines(20_000, (index) => `- !t${index} a\n`)}`,
  aliases: () => `a: &a 1\nx:\n${'- *a\n'.repeat(10_000)}${SMALLEST}`,
  'unknown aliases': () => `x:\n${lines(10_000, (index) => `- *a${index}\n`)}${SMALLEST}`,
  anchors: () => `x:\n${lines(60_000, (index) => `- &a${index} 1\n`)}${SMALLEST}`,
  commas: () => filled(',', 'x: ['),
  'words and commas': () => filled('a,', 'x: ['),
  'empty brackets': () => filled('[]\n', 'x: '),
  documents: () => filled('---\n'),
  comments: () => `${filled('#\n').slice(0, -SMALLEST.length)}${SMALLEST}x: 1\n`,
  'indented levels': () => SMALLEST + lines(1_350, (index) => `${' '.repeat(index)}a:\n`),
  'brackets that nearly nest too deeply': () =>
    cut(lines(40, () => `${'['.repeat(99)}${' '.repeat(20_000)}${']'.repeat(99)},`)),
  'one key': () => `${SMALLEST}${'k'.repeat(990_000)}: 1\n`,
  'one value': () => `${SMALLEST}log: { level: ${'k'.repeat(990_000)} }\n`,
  'percent signs': () => filled('%\n'),
  'question marks': () => filled('? a\n'),
  'wrong indentation': () => cut(SMALLEST + lines(160_000, (index) => `${' '.repeat((index % 7) + 1)}a: 1\n`)),
  'keys alone in braces': () => filled('a,', `${SMALLEST}x: {`),
  'wrong escapes': () => `${filled('\\q', `${SMALLEST}x: "`)}"`,
  'variables that are not set': () =>
    `${filled(variable('A'), `${SMALLEST}rpc: { methods: { x: { description: "`)}" } } }`,
  'references that are none': () => `${filled('${', `${SMALLEST}x: "`)}"`,
  'one long variable again and again': () =>
    `${filled(variable('LONG'), `${SMALLEST}rpc: { methods: { x: { description: "`)}" } } }`,
  'unknown references': () =>
    SMALLEST +
    cut(
      `actuators:\n${lines(500, (index) => `- { name: a${index}, kind: gpio-output, line: GPIO${index}, interlocks: [${lines(32, (at) => `u${index}x${at},`)}] }\n`)}`,
    ),
  'programs that are not there': () =>
    SMALLEST +
    `sensors:\n${lines(900, (index) => `- { name: a${index}, kind: command, program: /nope/${index}, format: number, key: k${index}, arguments: [${'x,'.repeat(30)}] }\n`)}`,
  'registers of one sensor, and rules for others': () =>
    SMALLEST +
    'sensors:\n- name: m\n  kind: modbus\n  connection: { transport: tcp, host: a }\n  window: { length: 1m }\n  registers:\n' +
    lines(6_000, (index) => `    k${index}: { address: ${index} }\n`) +
    `actuators: [{ name: a, kind: gpio-output, line: GPIO5 }]\nrules:\n` +
    lines(
      300,
      (index) =>
        `- { name: r${index}, when: { sensor: m, key: k${index}_mode, above: 5 }, set: { actuator: a, value: on } }\n`,
    ),
  'actuators that all exclude each other': () =>
    `${SMALLEST}actuators:\n${lines(500, (index) => `- { name: a${index}, kind: gpio-output, line: GPIO${index}, safe: { start: on, stop: on, crash: on }, interlocks: [${lines(32, (at) => `a${(index + at + 1) % 500},`)}] }\n`)}`,
  'regular expressions of sensors': () =>
    `${SMALLEST}sensors:\n${lines(900, (index) => `- { name: s${index}, kind: command, program: /bin/true, format: regex, pattern: "(?<a${index}>${'[^\\\\p{L}\\\\p{N}\\\\p{S}]'.repeat(45)})" }\n`)}`,
  'regular expressions of methods': () =>
    `${SMALLEST}actuators: [{ name: a, kind: gpio-output, line: GPIO5 }]\nrpc: { methods: {${lines(700, (index) => `m${index}: { actuator: a, params: { properties: { v: { pattern: "${index}${'\\\\p{L}'.repeat(190)}" } } } },`)}} }\n`,
  'words that nothing replaces': () =>
    `${SMALLEST}rpc: { methods: { x: { command: { program: /bin/cat, arguments: [${lines(60, (index) => `"${`{w${index}}`.repeat(2_000)}",`)}] }, params: { properties: {${lines(8_000, (index) => `p${index}: {},`)}} } } } }`,
  'names given twice': () =>
    `${SMALLEST}attributes: { client: {${lines(15_000, (index) => `fw_${index}: 1,`)}} }\nsensors: [{ name: a, kind: host, interfaces: [${lines(32, () => 'eth0,')}], disks: [${lines(32, () => '/,')}] }]\n`,
  'a long text of a template': () =>
    `${SMALLEST}templates: { t: { kind: command, program: /bin/true, arguments: ["${'y'.repeat(900_000)}{n}"] } }\nsensors: [{ template: t, count: 1000, name: "s{n}" }]\n`,
  'a long word again and again in a template': () =>
    `${SMALLEST}templates: { t: { kind: command, program: /bin/true, arguments: ["${'{a}'.repeat(150_000)}"] } }\nsensors: [{ template: t, name: "s{n}", each: [{ a: ${'x'.repeat(400_000)} }] }]\n`,
  'many words in a template of many': () =>
    `${SMALLEST}templates: { t: { kind: host, x: "${lines(100_000, (index) => `{w${index}}`)}" } }\nsensors: [{ template: t, count: 1000, name: "s{n}" }]\n`,
  'keys that stand twice': () => `${SMALLEST}${'a: { b: 1, b: 2 }\n'.repeat(14_000)}`,
  'templates that are not there': () => `${SMALLEST}sensors:\n${lines(15_000, () => '- { template: t, count: 2 }\n')}`,
  'sensors of no kind': () =>
    cut(
      `${SMALLEST}sensors:\n${lines(1_000, (index) => `- { name: a${index}, ${lines(15, (at) => `k${at}: 1, `)}}\n`)}`,
    ),
};

/** A configuration that is long and right. */
export function manySensors(count: number): string {
  const one = (index: number): string => {
    const keys = `voltage: { rename: v${index}, deadband: 0.1 }, current: { rename: c${index} }, power: { rename: p${index} }`;
    return `- { name: s${index}, kind: ina219, bus: ${index >> 4}, address: ${0x40 + (index & 15)}, period: 10s, keys: { ${keys} } }\n`;
  };
  return `sensors:\n${lines(count, one)}`;
}
