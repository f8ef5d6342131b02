/**
 * Surroundings that `run --simulate` gives to a configuration of a real site, so that it runs anywhere and reaches nobody: a local platform in place of the one
 * that is named, folders of its own, and a value for each variable that is not set here. All of it is gone when the run ends.
 *
 *   gateway.yaml ─ platform, provisioning, devices' tokens, folders replaced ─▶ simulated.yaml ─▶ agent ─▶ local platform
 *   models, presets beside it ─────────────────────── links ────────────────▶ beside simulated.yaml
 */
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { isMap, isSeq, parseDocument } from 'yaml';
import { readConfigBytes } from '../config/peek-config.ts';
import { loadConfigToRun } from '../config/read-config.ts';
import type { Environment } from '../host/environment.ts';
import { MODEL_FOLDERS } from '../host/model-files.ts';

export interface StandAloneRun {
  /** File with the replacements, for whoever reads it once more. */
  readonly configFile: string;
  /** Loads the configuration as it is now; faults are told of the file that a person wrote, by its lines. @throws as `loadConfigToRun`. */
  readonly loadConfig: typeof loadConfigToRun;
  /** Address of the platform that takes the readings. */
  readonly platformUrl: string;
  close(): Promise<void>;
}

const KEY = 'simulated-provision-key';
const SECRET = 'simulated-provision-secret';
/** Stands for each variable that is not set here, as secrets of a real site are not. */
const UNSET = 'simulated';
const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
const TOKENS = ['accessToken', 'accessTokenFile', 'accessTokenCredential'];

/** The environment, with a value for each variable that the configuration names. @throws AgentError `config/unreadable`. */
export async function simulatedEnvironment(configFile: string, environment: Environment): Promise<Environment> {
  const text = Buffer.from(await readConfigBytes(configFile)).toString('utf8');
  const named = [...text.matchAll(VARIABLE)].map(([, name = '']) => [name, UNSET] as const);
  return { ...Object.fromEntries(named), ...environment };
}

/** @throws AgentError `config/unreadable`. */
export async function openStandAloneRun(configFile: string, environment: Environment): Promise<StandAloneRun> {
  const { LocalPlatform } = await import('../stand-ins/local-platform/local-platform.ts');
  const platform = await LocalPlatform.start({});
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-simulated-'));
  const close = async (): Promise<void> => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    platform.allowProvisioning({ key: KEY, secret: SECRET });
    const file = join(folder, 'simulated.yaml');
    const write = async (): Promise<void> => {
      const text = Buffer.from(await readConfigBytes(configFile)).toString('utf8');
      const given = text.replace(VARIABLE, (reference, name) => (name in environment ? reference : UNSET));
      await writeFile(file, simulatedText(given, { url: platform.url, folder }), { mode: 0o600 });
    };
    const loadConfig: typeof loadConfigToRun = async (written, deps) => {
      await loadConfigToRun(written, { environment: await simulatedEnvironment(written, environment) });
      await write();
      return loadConfigToRun(file, deps);
    };
    for (const name of MODEL_FOLDERS) await symlink(resolve(dirname(configFile), name), join(folder, name));
    await write();
    return { configFile: file, loadConfig, platformUrl: platform.url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function simulatedText(text: string, { url, folder }: { readonly url: string; readonly folder: string }): string {
  const document = parseDocument(text, { merge: true });
  document.set('platform', { url });
  document.set('provisioning', { deviceKey: KEY, deviceSecret: SECRET });
  document.set('stateFolder', join(folder, 'state'));
  document.set('runFolder', join(folder, 'run'));
  document.delete('hardware');
  const devices = document.get('devices');
  if (isSeq(devices))
    for (const device of devices.items) if (isMap(device)) for (const token of TOKENS) device.delete(token);
  return document.toString();
}
