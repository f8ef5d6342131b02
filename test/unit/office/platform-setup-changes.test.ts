/** Later runs of platform-setup: units as gateways tell them, rules that this program or a person has changed, the lamp of an only output. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { markedRule } from '../../../src/office/platform-setup/rule-steps.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import { due, PROFILE, setupBench } from '../../support/platform-setup-bench.ts';

type Bench = Awaited<ReturnType<typeof setupBench>>;

/** A gateway of the profile that has sent these keys, and tells these units. */
function addGateway(
  { state, profile }: Bench,
  { name, units, createdMs = 1 }: { name: string; units: JsonObject; createdMs?: number },
): void {
  const device = { ...state.registry.draft({ name, profileId: profile()?.id ?? '' }, createdMs), type: PROFILE };
  state.registry.devices.put(device);
  state.saveTelemetry(device, { ts: 1, values: Object.fromEntries(Object.keys(units).map((key) => [key, 1])) });
  state.setAttributes(device.id, 'CLIENT_SCOPE', { units });
}

function chartsOf({ state }: Bench): Readonly<Record<string, readonly string[]>> {
  const { configuration } = state.dashboards.all[1]?.body ?? {};
  const { widgets } = configuration as unknown as { widgets: Record<string, ChartJson> };
  const charts = Object.values(widgets).filter(({ type }) => type === 'timeseries');
  return Object.fromEntries(
    charts.map(({ config }) => [config.title, (config.datasources[0]?.dataKeys ?? []).map(({ name }) => name)]),
  );
}
interface ChartJson {
  readonly type: string;
  readonly config: {
    readonly title: string;
    readonly datasources: readonly { readonly dataKeys: readonly { readonly name: string }[] }[];
  };
}

describe('units that gateways tell', () => {
  it('count before the names of keys, and the newer gateway before the older', async () => {
    const bench = await setupBench();
    await bench.json();
    addGateway(bench, { name: 'old', units: { silo: 'kg', temperature: '°C' }, createdMs: 1 });
    addGateway(bench, { name: 'new', units: { silo: 't', temperature: '°F' }, createdMs: 2 });
    expect(due(await bench.json())).toEqual([`${PROFILE}: sensors`]);
    expect(chartsOf(bench)).toEqual({ 'In t': ['silo'], 'In °F': ['temperature'] });
    expect(due(await bench.json())).toEqual([]);
  });

  it('are those of the profile’s devices alone', async () => {
    const bench = await setupBench();
    await bench.json();
    addGateway(bench, { name: 'ours', units: { silo: 't' } });
    const stranger = bench.state.registry.draft({ name: 'stranger' }, 9);
    bench.state.registry.devices.put(stranger);
    bench.state.setAttributes(stranger.id, 'CLIENT_SCOPE', { units: { silo: 'stone' } });
    await bench.json();
    expect(chartsOf(bench)).toEqual({ 'In t': ['silo'] });
  });

  it('are left out where they are no units: markup, numbers, long texts', async () => {
    const bench = await setupBench();
    await bench.json();
    addGateway(bench, { name: 'odd', units: { a: '<b>x</b>', b: 7, c: 'x'.repeat(40), silo: 't' } });
    await bench.json();
    expect(chartsOf(bench)).toEqual({ 'In t': ['silo'] });
  });
});

describe('an alarm rule that differs', () => {
  const RULE = 'Turnstone: alerts';
  const changed = (
    { state }: Bench,
    change: (configuration: Record<string, unknown>) => object,
    mark?: string,
  ): void => {
    const item = state.calculatedFields.all.find(({ body }) => body.name === RULE);
    if (item === undefined) throw new Error('no rule');
    const configuration = {
      ...(item.body.configuration as object),
      ...change(item.body.configuration as Record<string, unknown>),
    };
    const body = {
      ...item.body,
      configuration,
      ...(mark !== undefined && { additionalInfo: { description: mark } }),
    } as JsonObject;
    state.calculatedFields.put({ ...item, body });
  };
  const ruleIn = ({ state }: Bench) => state.calculatedFields.all.find(({ body }) => body.name === RULE);
  const stepOf = ({ steps }: Awaited<ReturnType<Bench['json']>>) => steps.find(({ name }) => name === RULE);

  it('is left where a person has changed it, and the plan says so', async () => {
    const bench = await setupBench();
    await bench.json();
    changed(bench, () => ({ propagate: true }));
    expect(stepOf(await bench.json())).toMatchObject({
      verdict: 'keep',
      why: 'it differs, and somebody has made or changed it; delete or rename it to get a new one',
    });
    expect(ruleIn(bench)?.body.configuration).toMatchObject({ propagate: true });
  });

  it('is brought up to date where an earlier release has made it', async () => {
    const bench = await setupBench();
    await bench.json();
    const now = ruleIn(bench)?.body;
    // As an earlier release would have left it: other content, with the mark of that content.
    changed(bench, () => ({ propagateToOwner: true }));
    const { additionalInfo } = markedRule(ruleIn(bench)?.body ?? {});
    changed(bench, () => ({}), (additionalInfo as { readonly description: string }).description);
    expect(stepOf(await bench.json())).toMatchObject({
      verdict: 'change',
      why: 'nobody has changed it since it was made',
      isDone: true,
    });
    expect(ruleIn(bench)?.body).toEqual(now);
    expect(due(await bench.json())).toEqual([]);
  });

  it('differs in nothing by members that a server adds, or by an unmarked copy', async () => {
    const bench = await setupBench();
    await bench.json();
    changed(bench, () => ({ output: null, propagateRelationTypes: null, scheduledUpdateEnabled: false }), 'mine');
    expect(stepOf(await bench.json())).toEqual({ what: 'alarm rule', name: RULE, verdict: 'keep', isDone: false });
  });
});

it('leaves alarm rules out on a platform that has none of this kind, from the first run on', async () => {
  const { platform, json } = await setupBench();
  const isList = (method: string, path: string): boolean =>
    method === 'GET' && path.startsWith('/api/calculatedFields');
  for (const _run of ['first', 'second']) {
    platform.faults.plant({ kind: 'answer', status: 404 }, { matches: isList });
    const { steps } = await json();
    expect(steps.filter(({ what }) => what === 'alarm rule')).toEqual([
      {
        what: 'alarm rule',
        name: 'all',
        verdict: 'keep',
        why: 'left out: this platform is older than 4.3',
        isDone: false,
      },
    ]);
  }
});

it('shows the state of the only output by its lamp, where the configuration is given', async () => {
  const { state, folder, json } = await setupBench();
  const config = join(folder, 'turnstone.yaml');
  const start = 'version: 1\nplatform: { url: "https://iot.example.org", accessToken: "abc" }\n';
  const pump = '{ name: pump, kind: gpio-output, line: GPIO5 }';
  await writeFile(config, `${start}actuators: [${pump}]\n`);
  await json('--config', config);
  const lamp = () => /"valueAttribute":"(\w+)"/.exec(JSON.stringify(state.dashboards.all[0]?.body))?.[1];
  expect(lamp()).toBe('pumpState');
  await writeFile(config, `${start}actuators: [${pump}, { name: fan, kind: gpio-output, line: GPIO6 }]\n`);
  await json('--config', config);
  expect(lamp()).toBe('value');
});
