/** An operator with a fresh platform: from nothing to dashboards that show what a gateway sends, with three terminals and what the screen says. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { JsonObject } from '../../src/values/json.ts';
import { AGENT_PROGRAM } from '../support/agent-program.ts';
import { RestPerson } from '../support/rest-person.ts';
import { missingTerminal, Terminal } from '../support/terminal.ts';

const PROFILE = 'Turnstone gateway';
const WITHIN_MS = 60_000;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A folder of the operator's, with `turnstone` on the path of each terminal. */
async function desk(): Promise<{ readonly folder: string; readonly openTerminal: () => Promise<Terminal> }> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-operator-'));
  closing.push(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  await writeFile(join(folder, 'turnstone'), `#!/bin/sh\nexec "${process.execPath}" "${AGENT_PROGRAM}" "$@"\n`, {
    mode: 0o755,
  });
  const environment = { PATH: `${folder}${delimiter}${process.env.PATH}` };
  const openTerminal = async (): Promise<Terminal> => {
    const terminal = await Terminal.open({ cwd: folder, environment });
    closing.push(() => terminal.close());
    return terminal;
  };
  return { folder, openTerminal };
}

/** Types the command, the password and the answer; resolves to all that stands on the screen then. */
async function setUp(terminal: Terminal, url: string, answer?: string): Promise<string> {
  await terminal.clear();
  await terminal.type(`turnstone platform-setup --url ${url} --user tenant@thingsboard.org`);
  await terminal.see(/^Password of tenant@thingsboard\.org: *$/m, WITHIN_MS);
  await terminal.type('tenant');
  if (answer !== undefined) {
    await terminal.see(/^Carry out \d+ steps?\? \[y\/N\] *$/m, WITHIN_MS);
    await terminal.type(answer);
  }
  await terminal.see(/^> $/m, WITHIN_MS);
  return terminal.screen();
}

interface Shown {
  readonly name: string;
  readonly type: string;
  readonly units: string | null;
}
interface WidgetJson {
  readonly config: { readonly datasources: readonly { readonly dataKeys: readonly Shown[] }[] };
}
interface Attribute {
  readonly value: Readonly<Record<string, string>>;
}

/** Keys of telemetry that a dashboard shows, each with its unit. */
async function shownBy(person: RestPerson, title: string): Promise<ReadonlyMap<string, string | null>> {
  const { data } = (await person.get(
    `/api/tenant/dashboards?pageSize=10&page=0&textSearch=${encodeURIComponent(title)}`,
  )) as {
    readonly data: readonly { readonly title: string; readonly id: { readonly id: string } }[];
  };
  const { id } = data.find((one) => one.title === title)?.id ?? {};
  const { configuration } = (await person.get(`/api/dashboard/${id}`)) as {
    readonly configuration: { readonly widgets: object };
  };
  const sources = (Object.values(configuration.widgets) as WidgetJson[]).flatMap(({ config }) => config.datasources);
  const shown = sources.flatMap(({ dataKeys }) => dataKeys).filter(({ type }) => type === 'timeseries');
  return new Map(shown.map(({ name, units }) => [name, units]));
}

describe.skipIf(missingTerminal() !== undefined)('an operator', () => {
  it('sets a fresh platform up, gives a gateway the section on the screen, and finds its keys on dashboards', {
    timeout: 300_000,
  }, async () => {
    const startedMs = performance.now();
    const { folder, openTerminal } = await desk();
    const [server, operator, gateway] = [await openTerminal(), await openTerminal(), await openTerminal()];
    await server.type('turnstone platform --port 0');
    const [, url = ''] = await server.see(/local platform at (http:\/\/[\w.:]+)/, WITHIN_MS);

    const first = await setUp(operator, url, 'y');
    expect(first).toMatch(/^Password of tenant@thingsboard\.org:$/m);
    expect(first).toMatch(/^make +device profile +Turnstone gateway/m);
    expect(first).toMatch(/^made dashboard Turnstone gateway: sensors$/m);
    const [section = ''] = /^provisioning:\n(?: .*\n)+/m.exec(first) ?? [];
    const written = [
      ...['version: 1', `platform: { url: "${url}" }`, ...section.trimEnd().split('\n')],
      ...['status: { telemetryPeriod: 2s }', 'sensors: [{ name: machine, kind: host, period: 2s }]'],
      ...[`stateFolder: ${folder}/state`, `runFolder: ${folder}/run`],
    ];
    await gateway.run('umask 077; mkdir -p run/identity; echo operator-1 > run/identity/serial-number');
    await gateway.type('cat > turnstone.yaml');
    for (const line of written) await gateway.type(line);
    await gateway.press('C-d');
    await gateway.see(/^> $/m);
    await gateway.type('turnstone run --config turnstone.yaml');

    const person = await RestPerson.logIn(url);
    const told = async (place: string): Promise<JsonObject> => {
      const id = await person.deviceId('gateway-operator-1');
      return (await person.get(`/api/plugins/telemetry/DEVICE/${id}/values/${place}`)) as JsonObject;
    };
    const [sent, units] = await vi.waitFor(
      async () => {
        const values = await told('timeseries');
        const [attribute] = (await told('attributes/CLIENT_SCOPE?keys=units')) as unknown as readonly Attribute[];
        const value = attribute?.value ?? {};
        expect(Object.keys(values)).toEqual(expect.arrayContaining(['upToDate', ...Object.keys(value)]));
        expect(Object.keys(value).length).toBeGreaterThan(0);
        return [new Set(Object.keys(values)), value] as const;
      },
      { timeout: WITHIN_MS, interval: 500 },
    );
    const health = [...(await shownBy(person, PROFILE)).keys()].filter(
      (key) => !/^(current_|target_)?(fw|sw)_/.test(key),
    );
    expect(health.filter((key) => !sent.has(key))).toEqual([]);

    const second = await setUp(operator, url, 'y');
    const due = [...second.matchAll(/^(?:make|change) +(.*?)\s*$/gm)].map(([, line = '']) =>
      line.replace(/ {2,}/g, ' '),
    );
    expect(due).toEqual([
      'dashboard Turnstone gateway: sensors nobody has changed it since it was made',
      'alarm rule Sensor fails: machine',
    ]);
    expect(Object.fromEntries(await shownBy(person, `${PROFILE}: sensors`))).toMatchObject(units);

    const third = await setUp(operator, url);
    expect(third).not.toMatch(/^(make|change)\b/m);
    expect(third).toContain('key and secret are as before');
    console.log(`from a fresh platform to a dashboard: ${Math.round((performance.now() - startedMs) / 1_000)} s`);
    await gateway.press('C-c');
    await gateway.see(/^> $/m, WITHIN_MS);
  });
});
