import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readYaml } from '../../../src/config/yaml/yaml-source.ts';
import { fileHash } from '../../../src/remote-config/file-hash.ts';
import { applyPatch } from '../../../src/remote-config/patch.ts';

const FILE = `# The boiler house, by hand.
version: 1   # of the format

platform:
  url: 'https://example.org'   # ours
  accessTokenFile: "/etc/turnstone/token"

sensors:
  # On the roof, behind the antenna.
  - name: roof
    kind: bme280
    period: 10s      # slow
    address: 0x76
    keys:
      temperature: { rename: roofTemperature, deadband: 0.1 } # fine
      "1.8.0": { scale: 2 }

  - { name: hall, kind: sht3x, keys: { temperature: { rename: hallTemperature } } }

actuators:
  - name: pump
    kind: gpio-output
    line: GPIO5
    limits:
      maxOn: 10m
    # the drain is beside it
    interlocks: [drain]
  - name: drain
    kind: gpio-output
    line: GPIO6
log:
  level: "info"
`;

function patched(text: string, patch: Readonly<Record<string, unknown>>): string {
  const bytes = Buffer.from(text);
  const result = applyPatch(bytes, { base: fileHash(bytes), ...patch });
  return result.faults === undefined ? Buffer.from(result.bytes).toString() : JSON.stringify(result.faults);
}

/** One line in place of others. */
function with_(from: string, to: string): string {
  expect(FILE).toContain(from);
  return FILE.replace(from, () => to);
}

describe('a patch', () => {
  it('sets values in their places, with comments, quotes, blanks and order as they are', () => {
    expect(
      patched(FILE, {
        set: { 'sensors.roof.period': '30s', 'log.level': 'debug', 'platform.url': 'https://new.example.org' },
      }),
    ).toBe(
      with_('period: 10s ', 'period: 30s ')
        .replace('"info"', '"debug"')
        .replace("'https://example.org'", "'https://new.example.org'"),
    );
  });

  it('sets values between brackets, in hex, and by names in brackets', () => {
    expect(patched(FILE, { set: { 'sensors.roof.keys.temperature.deadband': 0.2 } })).toBe(
      with_('deadband: 0.1', 'deadband: 0.2'),
    );
    expect(patched(FILE, { set: { 'sensors.roof.address': 0x77 } })).toBe(with_('0x76', '0x77'));
    expect(patched(FILE, { set: { 'sensors.roof.keys["1.8.0"].scale': 3 } })).toBe(with_('scale: 2', 'scale: 3'));
    expect(patched(FILE, { set: { 'actuators.pump.interlocks[0]': 'fan' } })).toBe(with_('[drain]', '[fan]'));
  });

  it('adds what is missing at its place in the order of the options, or at the end', () => {
    expect(patched(FILE, { set: { 'actuators.pump.limits.minOn': '30s' } })).toBe(
      with_('      maxOn: 10m\n', '      maxOn: 10m\n      minOn: 30s\n'),
    );
    expect(patched(FILE, { set: { label: 'Boiler house' } })).toBe(
      with_('version: 1   # of the format\n', 'version: 1   # of the format\nlabel: Boiler house\n'),
    );
    expect(patched(FILE, { set: { 'sensors.hall.period': '1m' } })).toBe(
      with_('kind: sht3x, keys', 'kind: sht3x, period: 1m, keys'),
    );
    expect(patched(FILE, { set: { 'actuators.drain.limits.maxOn': '5m' } })).toBe(
      with_('line: GPIO6\n', 'line: GPIO6\n').replace(
        '  - name: drain\n    kind: gpio-output\n',
        '  - name: drain\n    kind: gpio-output\n    limits: { maxOn: 5m }\n',
      ),
    );
    expect(patched(FILE, { set: { 'upload.interval': '10s' } })).toBe(
      with_('    line: GPIO6\n', '    line: GPIO6\nupload: { interval: 10s }\n'),
    );
    expect(patched('version: 1', { set: { 'log.level': 'debug' } })).toBe('version: 1\nlog: { level: debug }');
    expect(patched('version: 1\nlog:\nlabel: x\n', { set: { 'log.level': 'debug' } })).toBe(
      'version: 1\nlog: { level: debug }\nlabel: x\n',
    );
    expect(patched('{version: 1, log: {}}\n', { set: { 'log.level': 'debug' } })).toBe(
      '{version: 1, log: { level: debug }}\n',
    );
  });

  it('sets mappings and lists, on lines of their own where they are long', () => {
    expect(patched(FILE, { set: { 'actuators.pump.limits': { maxOn: '5m', minOn: '1s' } } })).toBe(
      with_('limits:\n      maxOn: 10m\n', 'limits: { maxOn: 5m, minOn: 1s }\n'),
    );
    const label = 'x'.repeat(60);
    expect(patched(FILE, { set: { 'actuators.drain': { name: 'drain', kind: 'pwm', label, channel: 1 } } })).toBe(
      with_(
        '  - name: drain\n    kind: gpio-output\n    line: GPIO6\n',
        `  - name: drain\n    kind: pwm\n    label: ${label}\n    channel: 1\n`,
      ),
    );
    expect(patched(FILE, { set: { rules: [{ name: label, label, class: label }, { name: 'b' }] } })).toBe(
      with_(
        '    line: GPIO6\n',
        `    line: GPIO6\nrules:\n  - name: ${label}\n    label: ${label}\n    class: ${label}\n  - name: b\n`,
      ),
    );
  });

  it('quotes what YAML would take for something else', () => {
    const set = {
      label: '12',
      'log.level': 'a: b # c',
      'attributes.client': { a: 'true', b: '- x', c: 'two\nlines', d: '{n}', e: '' },
    };
    const text = patched(FILE, { set });
    expect(readYaml(text).tree).toMatchObject({
      label: '12',
      log: { level: 'a: b # c' },
      attributes: { client: set['attributes.client'] },
    });
  });

  it('removes members and items, and leaves the comments above them', () => {
    expect(patched(FILE, { remove: ['sensors.roof.period'] })).toBe(with_('    period: 10s      # slow\n', ''));
    expect(patched(FILE, { remove: ['sensors.hall'] })).toBe(
      with_('  - { name: hall, kind: sht3x, keys: { temperature: { rename: hallTemperature } } }\n', ''),
    );
    expect(patched(FILE, { remove: ['actuators.pump.interlocks'] })).toBe(with_('    interlocks: [drain]\n', ''));
    expect(patched(FILE, { remove: ['actuators.pump.limits.maxOn'] })).toBe(
      with_('limits:\n      maxOn: 10m\n', 'limits: {}\n'),
    );
    expect(patched(FILE, { remove: ['actuators.drain'] })).toBe(
      with_('  - name: drain\n    kind: gpio-output\n    line: GPIO6\n', ''),
    );
    expect(patched(FILE, { remove: ['sensors.roof.keys.temperature.rename'] })).toBe(
      with_('rename: roofTemperature, ', ''),
    );
    expect(patched(FILE, { remove: ['sensors.roof.keys.temperature.deadband'] })).toBe(with_(', deadband: 0.1', ''));
    expect(patched(FILE, { remove: ['log'] })).toBe(with_('log:\n  level: "info"\n', ''));
    expect(patched('version: 1\nlog: { level: info }', { remove: ['log'] })).toBe('version: 1');
  });

  it('adds items at the end of lists, and begins lists', () => {
    expect(
      patched(FILE, { add: { sensors: [{ name: 'cellar', kind: 'tmp102', keys: { temperature: { unit: '°C' } } }] } }),
    ).toBe(
      with_(
        'hallTemperature } } }\n',
        'hallTemperature } } }\n  - name: cellar\n    kind: tmp102\n    keys: { temperature: { unit: °C } }\n',
      ),
    );
    expect(patched(FILE, { add: { 'actuators.pump.interlocks': ['fan', { with: 'lamp', gap: '2s' }] } })).toBe(
      with_('[drain]', '[drain, fan, { with: lamp, gap: 2s }]'),
    );
    expect(patched(FILE, { add: { devices: [{ name: 'meter' }] } })).toBe(`${FILE}devices: [{ name: meter }]\n`);
  });

  it('does several things at once, and none of them when one is wrong', () => {
    const good = {
      set: { 'sensors.roof.period': '30s' },
      remove: ['log'],
      add: { sensors: [{ name: 'b', kind: 'host' }] },
    };
    expect(readYaml(patched(FILE, good)).tree).toMatchObject({
      sensors: [{ name: 'roof', period: '30s' }, { name: 'hall' }, { name: 'b', kind: 'host' }],
    });
    const wrong = { ...good, set: { 'sensors.roof.period': '30s', 'sensors.rof.period': '1s', 'a..b': 1 } };
    expect(JSON.parse(patched(FILE, wrong))).toEqual([
      { path: 'a..b', problem: 'is no path', expected: 'paths such as sensors.roof.period' },
    ]);
    const missing = { ...good, set: { 'sensors.rof.period': '1s' }, remove: ['log', 'label', 'sensors.wall'] };
    expect(JSON.parse(patched(FILE, missing))).toEqual([
      expect.objectContaining({
        path: 'sensors.rof.period',
        problem: 'sensors.rof is not there',
        expected: 'one of roof, hall; did you mean "roof"?',
      }),
      expect.objectContaining({ path: 'label', problem: 'label is not there' }),
      expect.objectContaining({
        path: 'sensors.wall',
        problem: 'sensors.wall is not there',
        expected: 'one of roof, hall; did you mean "hall"?',
      }),
    ]);
  });

  it.each<readonly [string, Readonly<Record<string, unknown>>, string]>([
    ['a name that is there', { add: { sensors: [{ name: 'roof', kind: 'host' }] } }, 'sensors.roof is there already'],
    ['an item without a name', { add: { sensors: [{ kind: 'host' }] } }, 'an item of sensors has a name'],
    ['a list that is none', { add: { log: [{ name: 'x' }] } }, 'log is no list'],
    ['members of a value', { set: { 'version.a': 1 } }, 'version has no members'],
    ['no value', { set: { label: null } }, 'has no value'],
    ['a place twice', { set: { log: { level: 'info' } }, remove: ['log.level'] }, 'is changed twice in one patch'],
    ['nothing', {}, 'changes nothing'],
    ['something else', { put: {} }, 'is no part of a patch'],
    ['no paths', { remove: [1] }, 'is no part of a patch'],
    ['the prototype', { set: { 'log.__proto__.level': 'x' } }, 'is no path'],
    [
      'the prototype in a value',
      { set: { log: JSON.parse('{"__proto__":{"level":"x"}}') } },
      'cannot be written there',
    ],
    ['too much at once', { remove: Array.from({ length: 51 }, (_, at) => `sensors.roof.a${at}`) }, '51 changes'],
    ['a bottomless value', { set: { label: JSON.parse(`${'['.repeat(30)}${']'.repeat(30)}`) } }, 'nested too deeply'],
    ['another file', { base: '0'.repeat(64), remove: ['log'] }, 'is the hash of another file'],
    ['the whole list by number', { remove: ['sensors[7]'] }, 'sensors[7] is not there'],
    ['a megabyte', { set: { label: 'x'.repeat(1024 * 1024) } }, 'cannot be written there'],
  ])('is refused with %s, in words', (_what, patch, problem) => {
    const [first] = JSON.parse(patched(FILE, patch));
    expect(first.problem).toContain(problem);
  });

  it('is refused for too many changes before any of them is read', () => {
    const many = Array.from({ length: 30 }, () => 'no path..');
    const faults = JSON.parse(patched(FILE, { remove: many, add: { sensors: many } })) as unknown[];
    expect(faults).toEqual([{ path: '', problem: '60 changes', expected: 'at most 50, or the whole file' }]);
  });

  it('is refused for a file that is no configuration', () => {
    expect(JSON.parse(patched('a: [', { remove: ['a'] }))[0].problem).toContain('in line 1');
    expect(
      applyPatch(Buffer.from([0xff, 0xfe]), { base: fileHash(Buffer.from([0xff, 0xfe])), remove: ['a'] }),
    ).toHaveProperty('faults');
    expect(applyPatch(Buffer.from('a: 1\n'), null)).toHaveProperty('faults');
  });

  it('keeps a byte order mark, line ends, and a last line without one', () => {
    expect(
      patched('\ufeffversion: 1\r\nlog:\r\n  level: info\r\n', { set: { label: 'x', 'log.level': 'debug' } }),
    ).toBe('\ufeffversion: 1\r\nlabel: x\r\nlog:\r\n  level: debug\r\n');
  });

  it('changes texts of several lines', () => {
    const text = 'version: 1\nlabel: |\n  two\n  lines\n\nlog:\n  level: info\n';
    expect(patched(text, { set: { label: 'one' } })).toBe('version: 1\nlabel: one\n\nlog:\n  level: info\n');
    expect(patched(text, { remove: ['label'] })).toBe('version: 1\n\nlog:\n  level: info\n');
  });
});

describe('numbers of items', () => {
  it('are those of the file as it was, however many go', () => {
    const text = 'version: 1\nrules: [{ name: a, set: { curve: { points: [[1, 1], [2, 2], [3, 3], [4, 4]] } } }]\n';
    const at = (index: number): string => `rules.a.set.curve.points[${index}]`;
    expect(
      patched(text, {
        remove: [at(0), at(2)],
        set: { [at(3)]: [5, 5] },
        add: { 'rules.a.set.curve.points': [[6, 6]] },
      }),
    ).toBe('version: 1\nrules: [{ name: a, set: { curve: { points: [[2, 2], [5, 5], [6, 6]] } } }]\n');
  });
});

describe('a patch of what comes from elsewhere', () => {
  const ANCHORS = `version: 1
sensors:
  - &one { name: a, kind: bme280, period: 10s, keys: &rules { temperature: { deadband: 1 } } }
  - { <<: *one, name: b }
  - { name: c, kind: sht3x, keys: *rules, period: &p 5s }
  - { name: d, kind: sht3x, period: *p }
`;

  it('is refused where it would change others, and says which', () => {
    const problem = (set: unknown): string => JSON.parse(patched(ANCHORS, { set } as never))[0].problem;
    expect(problem({ 'sensors.a.period': '20s' })).toBe(
      'would change others, which come from the same anchor: sensors.b.period',
    );
    expect(problem({ 'sensors.a.keys.temperature.deadband': 2 })).toMatch(/sensors\.b\.keys.*sensors\.c\.keys/);
    expect(problem({ 'sensors.c.keys.temperature.deadband': 2 })).toMatch(/comes from the anchor &rules/);
    expect(problem({ 'sensors.b.keys.temperature.round': 2 })).toMatch(/would change others/);
    expect(problem({ 'sensors.c.period': '6s' })).toBe(
      'would change others, which come from the same anchor: sensors.d.period',
    );
  });

  it('gives a member of its own to what has it from an anchor', () => {
    expect(patched(ANCHORS, { set: { 'sensors.b.period': '20s' } })).toBe(
      ANCHORS.replace('name: b }', 'name: b, period: 20s }'),
    );
    expect(patched(ANCHORS, { set: { 'sensors.d.period': '20s' } })).toBe(ANCHORS.replace('*p }', '20s }'));
  });

  const TEMPLATES = `version: 1
templates: { meter: { kind: bme280, period: 10s } }
sensors:
  - { template: meter, count: 3, name: "meter{n}", address: 0x76 }
  - { template: meter, name: single, address: 0x77 }
`;

  it('is refused for one of several that a template makes', () => {
    const [first] = JSON.parse(patched(TEMPLATES, { set: { 'sensors.meter2.period': '20s' } }));
    expect(first.problem).toBe(
      'sensors.meter2 is made with others by sensors["meter{n}"]: a change would be of all of them, and is made there',
    );
    expect(patched(TEMPLATES, { add: { sensors: [{ name: 'meter2', kind: 'host' }] } })).toContain('is there already');
  });

  it('changes all of them where that is said, and an only one by itself', () => {
    expect(patched(TEMPLATES, { set: { 'sensors["meter{n}"].period': '20s' } })).toBe(
      TEMPLATES.replace('0x76 }', '0x76, period: 20s }'),
    );
    expect(patched(TEMPLATES, { set: { 'templates.meter.period': '20s' } })).toBe(TEMPLATES.replace('10s', '20s'));
    expect(patched(TEMPLATES, { set: { 'sensors.single.period': '20s' } })).toBe(
      TEMPLATES.replace('0x77 }', '0x77, period: 20s }'),
    );
  });
});

describe('the example', () => {
  const example = readFileSync(resolve(import.meta.dirname, '../../../config/turnstone.example.yaml'), 'utf8');

  it('changes in one line for one value', () => {
    const text = patched(example, {
      set: { 'sensors.roof.period': '30s', 'actuators.fan.limits.max': 70, 'rules.coolTheCabinet.when.above': 36 },
    });
    const lines = [example, text].map((one) => one.split('\n'));
    const changed = (lines[0] ?? []).filter((line, at) => line !== lines[1]?.[at]);
    expect(changed.map((line) => line.trim().split(' ').slice(0, 2).join(' '))).toEqual([
      'period: 10s',
      'limits: {',
      'above: 35',
    ]);
    expect(lines[1]).toHaveLength(lines[0]?.length ?? 0);
  });

  it('is never spoilt: each patch gives what is meant, or is refused', () => {
    const tree = readYaml(example).tree as Record<string, unknown>;
    const paths = pathsIn(tree, '');
    let applied = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...paths),
        fc.constantFrom('set', 'remove' as const),
        fc.oneof(
          fc.string({ maxLength: 12 }),
          fc.integer(),
          fc.boolean(),
          fc.constant({ a: 'b', c: [1, '2'] }),
          fc.constant([]),
        ),
        (path, how, value) => {
          const bytes = Buffer.from(example);
          const result = applyPatch(bytes, {
            base: fileHash(bytes),
            ...(how === 'set' ? { set: { [path]: value } } : { remove: [path] }),
          });
          if (result.faults !== undefined) return;
          applied += 1;
          // Comments of other lines stay.
          const comments = (text: string): number => text.split('\n').filter((line) => /^ *#/.test(line)).length;
          expect(comments(Buffer.from(result.bytes).toString())).toBeGreaterThanOrEqual(comments(example) - 40);
        },
      ),
      { numRuns: 30, seed: 5 },
    );
    expect(applied).toBeGreaterThan(20);
  });
});

function pathsIn(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [
    ...(path === '' ? [] : [path]),
    ...Object.entries(value).flatMap(([key, member]) =>
      pathsIn(
        member,
        Array.isArray(value)
          ? member?.name !== undefined
            ? `${path}.${member.name}`
            : `${path}[${key}]`
          : /^[\w*:-]+$/.test(key)
            ? path === ''
              ? key
              : `${path}.${key}`
            : `${path}[${JSON.stringify(key)}]`,
      ),
    ),
  ];
}
