/**
 * A whole agent whose configuration has a secret in each of fifty places, and whose sensors fail with them: what page, platform, log, commands and
 * support archive say of it, also after changes from afar that were refused, has none of them.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import type { JsonObject } from '../../src/values/json.ts';
import { AgentProcess } from '../support/agent-process.ts';
import {
  CANARY_ENVIRONMENT,
  CANARY_PLACES,
  canaryAt,
  canaryConfiguration,
  canaryOf,
  FIRST_OF_CHANGES,
} from '../support/canary-places.ts';
import { freePort } from '../support/free-port.ts';
import { RestPerson } from '../support/rest-person.ts';

const WITHIN = { timeout: 30_000, interval: 100 };
const NEW = canaryOf(FIRST_OF_CHANGES);
const CANARIES = [...CANARY_PLACES.map(({ canary }) => canary), NEW];
/** Events of the page's stream are looked at for so long. */
const STREAM_MS = 3_000;

let platform: LocalPlatform;
let agent: AgentProcess;
let person: RestPerson;
let deviceId: string;
let port: number;
let text: string;
let cookie = '';
let environment: Record<string, string>;

/** Canaries in a text, each with what stands around it. */
function leaksIn(words: string): readonly string[] {
  return CANARIES.flatMap((canary) => {
    const at = words.indexOf(canary);
    return at < 0 ? [] : [words.slice(Math.max(0, at - 120), at + 40)];
  });
}

/** Somebody who knows the PIN. */
async function logIn(): Promise<string> {
  const { headers } = await fetch(`http://127.0.0.1:${port}/api/session`, {
    method: 'POST',
    body: JSON.stringify({ pin: canaryAt('status.pin') }),
    headers: { 'content-type': 'application/json' },
  });
  return headers
    .getSetCookie()
    .map((one) => one.split(';')[0] ?? '')
    .join('; ');
}

async function page(path: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { cookie } });
  return `${response.status} ${await response.text()}`;
}

async function stream(): Promise<string> {
  let heard = '';
  const signal = AbortSignal.timeout(STREAM_MS);
  try {
    const { body } = await fetch(`http://127.0.0.1:${port}/api/events`, { signal, headers: { cookie } });
    for await (const piece of body ?? []) heard += Buffer.from(piece).toString();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return heard;
}

/** All that the platform holds of the device but what somebody told it. */
function held(): string {
  const { state } = platform;
  const attributes = state.attributes.read(deviceId, 'CLIENT_SCOPE');
  const telemetry = state.telemetry
    .keys(deviceId)
    .map((key) => [key, ...state.telemetry.series(deviceId, key).scan(0, Number.MAX_SAFE_INTEGER)]);
  return JSON.stringify([attributes, telemetry], (_name, value) => (typeof value === 'bigint' ? String(value) : value));
}

async function asked(method: string, params: JsonObject): Promise<string> {
  const { text: answer } = await person.rpc(deviceId, method, params);
  return answer;
}

beforeAll(async () => {
  platform = await LocalPlatform.start();
  deviceId = platform.ensureDevice('canaries', canaryAt('platform.accessToken')).id;
  person = await RestPerson.logIn(platform.url);
  port = await freePort();
  agent = await AgentProcess.make('version: 1', 'CANARY-1');
  const { folder, configFile } = agent;
  text = canaryConfiguration(folder, platform.url)
    .replace(/^ {2}proxy: .*\n/m, '')
    .replace('port: 0', `port: ${port}`);
  await writeFile(configFile, text, { mode: 0o600 });
  await writeFile(join(folder, 'password'), `${canaryAt('file of sensors.stored.password')}\n`, { mode: 0o600 });
  await writeFile(join(folder, 'sealed'), `${canaryAt('credential of sensors.sealed.password')}\n`, { mode: 0o600 });
  await writeFile(join(folder, 'driver.mjs'), 'export default {}\n');
  environment = Object.assign({ CREDENTIALS_DIRECTORY: folder }, CANARY_ENVIRONMENT);
  agent.start(environment);
  await vi.waitFor(() => expect(held()).toMatch(/configFileHash/), WITHIN);
}, 90_000);

afterAll(async () => {
  await agent?.remove();
  await platform?.close();
});

it('tells none on the page, in its stream, and at the platform', { timeout: 120_000 }, async () => {
  const base = createHash('sha256').update(text).digest('hex');
  const changes: readonly JsonObject[] = [
    { patch: { base, set: { 'platform.acessToken': NEW } } },
    { patch: { base, set: { 'sensors.meter.password': NEW, label: 'x' } } },
    { patch: { base, set: { 'sensors.meter.headers.Authorization': `Bearer ${NEW}` } } },
    { patch: { base, set: { 'sensors.gate.environment.API_TOKEN': NEW } }, check: true },
    { file: text.replaceAll(canaryAt('sensors.meter.url'), NEW), base, check: true },
    { file: text.replace('headers:', `headers: "${NEW}`), base },
    { file: `${text}${NEW}: ${NEW}\n`, base },
  ];
  const answers: string[] = [];
  for (const params of changes) answers.push(await asked('configure', params));
  const patch = { base, set: { 'status.pin': '80417365', 'platform.acessToken': NEW } };
  platform.state.attributes.set(deviceId, 'SHARED_SCOPE', { configurationPatch: patch }, Date.now());
  await vi.waitFor(() => expect(held()).toMatch(/sharedRefused[^}]*configurationPatch/), WITHIN);
  for (const method of [
    'configurationStatus',
    'getStatus',
    'getSensors',
    'timeline',
    'getLog',
    'diagnose',
    'outboxStatus',
  ])
    answers.push(await asked(method, {}));
  expect(answers.join('\n')).toMatch(/refused/);
  cookie = await logIn();
  const told = {
    answers: answers.join('\n'),
    platform: held(),
    page: await page('/'),
    status: await page('/api/status'),
    facts: await page('/api/facts'),
    timeline: await page('/api/timeline'),
    doctor: await page('/api/doctor'),
    metrics: await page('/metrics'),
    stream: await stream(),
    log: agent.log,
  };
  expect(told.status).toMatch(/^200 /);
  expect(told.stream).toMatch(/data:/);
  for (const [where, words] of Object.entries(told)) expect(leaksIn(words), where).toEqual([]);
});

it.each<[string, readonly string[]]>([
  ['doctor', ['doctor']],
  ['doctor as JSON', ['doctor', '--json']],
  ['status', ['status']],
  ['timeline', ['timeline']],
  ['history', ['configuration', 'history']],
])('tells none by the command: %s', { timeout: 90_000 }, async (_name, words) => {
  const { out, err } = await agent.command(words, { environment });
  expect(out + err).not.toMatch(/^$|unknown (option|command)|Usage:/);
  expect(leaksIn(out + err)).toEqual([]);
});

it.each<[string, (text: string) => string]>([
  ['as it is', (whole) => whole],
  ['with an open quote', (whole) => whole.replace('headers:', `headers: "${NEW}`)],
  ['with a token at a wrong place', (whole) => whole.replace('  accessToken:', `  acessToken: ${NEW}\n  accessToken:`)],
  ['with a line twice', (whole) => whole.replace(/^( {4}password: .*\n)/m, '$1$1')],
  ['with a token as a key', (whole) => `${whole}${NEW}: 1\n`],
  ['with a PIN as a key', (whole) => `${whole}${canaryAt('status.pin')}: 1\n`],
])(
  'tells none in the support archive, and by check-config of the file %s',
  { timeout: 90_000 },
  async (name, change) => {
    const file = join(agent.folder, 'changed.yaml');
    await writeFile(file, change(text), { mode: 0o600 });
    const checked = await agent.command(['check-config', file], { config: false, environment });
    expect(leaksIn(checked.out + checked.err), 'check-config').toEqual([]);
    const folder = join(agent.folder, `archive ${name}`);
    await mkdir(folder);
    await writeFile(join(agent.folder, 'agent.log'), agent.log);
    const archive = join(folder, 'archive.tar.gz');
    const packed = await agent.command(
      ['diagnose', '--out', archive, '--log-file', join(agent.folder, 'agent.log'), '--config', file],
      { config: false, environment },
    );
    expect(leaksIn(packed.out + packed.err), 'diagnose').toEqual([]);
    await promisify(execFile)('tar', ['-xzf', archive, '-C', folder]);
    for (const part of ['configuration.yaml', 'doctor.txt', 'doctor.json', 'status.json', 'outbox.json', 'log.txt'])
      expect(leaksIn(await readFile(join(folder, 'turnstone-diagnosis', part), 'utf8')), part).toEqual([]);
  },
);
