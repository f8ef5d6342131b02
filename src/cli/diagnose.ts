/** Packs one redacted archive for support. */
import { readFile } from 'node:fs/promises';
import { version as kernelVersion, release } from 'node:os';
import { join, resolve } from 'node:path';
import { peekFolders } from '../config/peek-config.ts';
import { type ShownConfig, shownConfig } from '../config/shown-config.ts';
import { CREDENTIALS_FILES } from '../devices/credentials-files.ts';
import { UNIT } from '../doctor/checks/checkup.ts';
import { messageOf, systemCode } from '../errors/agent-error.ts';
import { boardModel } from '../host/board-model.ts';
import { systemClock } from '../host/clock.ts';
import type { Environment } from '../host/environment.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOfWay } from '../host/folder-owner.ts';
import { readLogFile, readServiceLog } from '../host/service-log.ts';
import { agentVersion } from '../host/version.ts';
import { readUserFile, readWhole } from '../host/whole-file.ts';
import { type JsonValue, jsonOf, parseJson, stringifyJson } from '../values/json.ts';
import { askAgent } from './agent-calls.ts';
import type { DiagnoseCall } from './commands/doctor.ts';
import { examine, reportText } from './doctor.ts';
import { usageError } from './exit-code.ts';
import { PLAIN } from './printer.ts';
import { ARCHIVE_MODE, packSupportArchive, Redactor } from './support-archive.ts';
import { expectReplaceable, writeOutput } from './written-file.ts';

const NO_YAML =
  'left out: it is no YAML, so that nobody can tell what in it is secret; doctor.txt says what is wrong with it\n';
const NO_LOG =
  'no log: journalctl knows nothing of turnstone.service here, or this user may not read it; --log-file gives one';

export async function diagnose({ flags, edge, print }: DiagnoseCall): Promise<void> {
  const out = resolve(flags.out ?? `turnstone-diagnosis-${stamp(systemClock.wallMs())}.tar.gz`);
  await expectReplaceable(out);
  // A name that is mistyped is told at once.
  const log =
    flags.logFile === undefined ? await readServiceLog(UNIT, systemClock, edge.signal) : await namedLog(flags.logFile);
  const redactor = new Redactor();
  const configuration = await readUserFile(flags.config).catch(messageOf);
  const shown: ShownConfig =
    configuration === undefined || typeof configuration === 'string'
      ? { text: `not there: ${configuration ?? 'no such file'}\n`, secrets: [] }
      : await shownConfig(configuration, edge.environment);
  for (const secret of shown.secrets) redactor.hide(secret);
  await hideKeptSecrets(flags.config, edge.environment, redactor);
  const doctor = await examine(flags.config, edge);
  const { runFolder } = await peekFolders(flags.config, edge.environment);
  const texts = {
    'configuration.yaml': shown.text ?? NO_YAML,
    'doctor.txt': reportText(doctor, PLAIN),
    'doctor.json': json(jsonOf(doctor)),
    'status.json': await orReason(async () => json(jsonOf(await askAgent(runFolder, 'getStatus')))),
    'outbox.json': await orReason(async () => json(jsonOf(await askAgent(runFolder, 'outboxStatus')))),
    'versions.json': json(await versions()),
    'log.txt': log ?? NO_LOG,
  };
  const archive = await packSupportArchive(texts, redactor);
  // Everything that root alone may read was read.
  await actAsOwnerOfWay(out);
  await writeOutput(out, archive, ARCHIVE_MODE);
  const files = Object.keys(texts);
  print.result(
    { file: out, files, verdict: doctor.verdict },
    () => `wrote ${out}: ${files.join(', ')}\nsecrets are taken out; look through it before it leaves the house\n`,
  );
}

async function namedLog(path: string): Promise<string> {
  return readLogFile(path).catch((cause: unknown) => {
    const why = systemCode(cause) === 'EINVAL' ? 'it is no regular file' : (systemCode(cause) ?? messageOf(cause));
    throw usageError(`cannot read the log ${path}: ${why}`, { cause });
  });
}

async function hideKeptSecrets(configFile: string, environment: Environment, redactor: Redactor): Promise<void> {
  const { stateFolder } = await peekFolders(configFile, environment);
  for (const name of CREDENTIALS_FILES) {
    try {
      const text = await readWhole(systemFiles, join(stateFolder, name));
      if (text !== undefined) for (const secret of textsIn(parseJson(text.toString('utf8')), '')) redactor.hide(secret);
    } catch {
      // Not in the archive, and not understood: nothing of it can be shown.
    }
  }
}

/** Texts under names of secrets, however deep. */
function textsIn(value: unknown, name: string): readonly string[] {
  if (typeof value === 'string') return /token|secret|key/i.test(name) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, name));
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, member]) => textsIn(member, key))
    : [];
}

async function versions(): Promise<JsonValue> {
  const osRelease = await readFile('/etc/os-release', 'utf8').catch(() => '');
  return {
    turnstone: agentVersion(),
    node: process.version,
    kernel: `${release()} ${kernelVersion()}`,
    architecture: process.arch,
    system: /^PRETTY_NAME="?([^"\n]*)/m.exec(osRelease)?.[1] ?? 'unknown',
    model: (await boardModel()) ?? 'unknown',
    uptimeS: Math.round(systemClock.monotonicMs() / 1_000),
  };
}

/** A part that cannot be had says why in its place. */
async function orReason(read: () => Promise<string>): Promise<string> {
  return read().catch((error: unknown) => `not there: ${messageOf(error)}\n`);
}

function json(value: JsonValue): string {
  return `${stringifyJson(value)}\n`;
}

/** `20261121-1134Z`. */
function stamp(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 13).concat('Z');
}
