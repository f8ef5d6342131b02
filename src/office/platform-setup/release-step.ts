/** A release of the agent as an OTA package: its version comes from its own manifest, its checksum from its bytes. */
import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { CommandError, usageError } from '../../cli/exit-code.ts';
import { AgentError, messageOf } from '../../errors/agent-error.ts';
import { readImageManifest } from '../../firmware/release-archive.ts';
import { systemFiles } from '../../host/files.ts';
import { readUserFile } from '../../host/whole-file.ts';
import type { JsonObject } from '../../values/json.ts';
import { type Api, idIn, type Made, reference, type Step } from './plan.ts';

export interface Release {
  readonly title: string;
  readonly version: string;
  readonly arch: string;
  readonly fileName: string;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** The usual firmware.title of an agent. */
const TITLE = 'turnstone';
const MAX_RELEASE_BYTES = 300 * 1024 * 1024;

/** @throws CommandError for a file that is no release. */
export async function readRelease(path: string, signal: AbortSignal): Promise<Release> {
  const bytes = await readUserFile(path, MAX_RELEASE_BYTES);
  if (bytes === undefined) throw usageError(`there is no file ${path}`);
  const file = await systemFiles.open(await realpath(path), 'read');
  try {
    const { release: version, arch } = await readImageManifest(file, await file.size(), signal);
    return {
      title: TITLE,
      version,
      arch,
      fileName: basename(path),
      sha256: createHash('sha256').update(bytes).digest('hex'),
      bytes,
    };
  } catch (cause) {
    if (!(cause instanceof AgentError)) throw cause;
    throw new CommandError(`${path} is no release: ${messageOf(cause)}`, {
      nextStep: 'give a turnstone-….tar.zst',
      cause,
    });
  } finally {
    await file.close();
  }
}

/** @throws CommandError where the platform has another file under this version, or holds it for another profile. */
export function releaseStep(
  api: Api,
  release: Release,
  packages: readonly JsonObject[],
  profileId: string | undefined,
): Step {
  const { title, version } = release;
  const found = packages.find((one) => one.type === 'FIRMWARE' && one.title === title && one.version === version);
  const step = { what: 'package', name: `${title} ${version} (${release.arch})` };
  if (found === undefined) {
    const carryOut = async (made: Made): Promise<void> => {
      const body = {
        title,
        version,
        type: 'FIRMWARE',
        tag: `${title} ${version}`,
        usesUrl: false,
        deviceProfileId: reference('DEVICE_PROFILE', idIn(made.profile)),
      };
      await fill(api, idIn(await api.post('/api/otaPackage', body)), release, made);
    };
    return { ...step, verdict: 'make', why: `${Math.ceil(release.bytes.length / 1024 / 1024)} MiB are sent`, carryOut };
  }
  const holder = found.deviceProfileId as { readonly id?: unknown } | null | undefined;
  if (typeof holder?.id === 'string' && holder.id !== profileId)
    throw new CommandError(`the platform has ${title} ${version} for another profile`, {
      nextStep: 'delete that package, or give --profile',
    });
  if (found.hasData !== true)
    return {
      ...step,
      verdict: 'change',
      why: 'its file was never sent whole',
      carryOut: async (made) => fill(api, idIn(found), release, made),
    };
  if (found.checksumAlgorithm === 'SHA256' && found.checksum !== release.sha256)
    throw new CommandError(`the platform has another file as ${title} ${version}`, {
      nextStep: 'a package cannot be changed: delete it there, or give a release with another version',
    });
  return { ...step, verdict: 'keep' };
}

async function fill(api: Api, id: string, { fileName, bytes, sha256 }: Release, made: Made): Promise<void> {
  await api.upload(`/api/otaPackage/${id}?checksumAlgorithm=SHA256&checksum=${sha256}`, { name: fileName, bytes });
  made.packageId = id;
}
