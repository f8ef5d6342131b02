/** Firmware and software for devices, and the REST routes that make, fill and assign packages. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { JsonObject } from '../../values/json.ts';
import type { PlatformDevice } from './device-registry.ts';
import { forDevice } from './device-routes.ts';
import { existing, jsonReply, OK, PayloadFault, type Reply, requiredText, wholeNumberOf } from './http-reply.ts';
import type { Call, Handler, Routes } from './http-service.ts';
import type { LocalPlatform } from './local-platform.ts';
import type { OtaKind, OtaPackage } from './ota-packages.ts';
import { CHECKSUM_ALGORITHMS, checksumOf, readPart, receiveFile } from './package-file.ts';
import { entityId, idIn, objectIn, page, TENANT_ID } from './payload.ts';

export function otaRoutes(platform: LocalPlatform): Routes {
  const { people, state } = platform;
  const found = (call: Call): OtaPackage => existing(state.packages.byId(call.params.id ?? ''));
  return {
    'GET /api/v1/:token/firmware': (call) => sendPart(platform, 'FIRMWARE', call),
    'GET /api/v1/:token/software': (call) => sendPart(platform, 'SOFTWARE', call),
    'POST /api/otaPackage': people.admins((call) => jsonReply(packageJson(savePackage(platform, call)))),
    'POST /api/otaPackage/:id': {
      streamed: true,
      handler: people.admins(async (call) => jsonReply(packageJson(await fillPackage(platform, found(call), call)))),
    },
    'GET /api/otaPackages': people.admins((call) => jsonReply(page(state.packages.all.map(packageJson), call.query))),
    'GET /api/otaPackage/info/:id': people.users((call) => jsonReply(packageJson(found(call)))),
    'DELETE /api/otaPackage/:id': people.admins(async (call) => {
      const { id } = found(call);
      const holder = platform.packages.holderOf(id);
      if (holder !== undefined) throw new PayloadFault(`The otaPackage referenced by the ${holder} cannot be deleted!`);
      await platform.packages.remove(id);
      return OK;
    }),
  };
}

/** Bytes [size × chunk, + size) of the assigned file; size below 1 is all of it, past the end is nothing. */
function sendPart(platform: LocalPlatform, kind: OtaKind, call: Call): ReturnType<Handler> {
  const { query } = call;
  const title = requiredText(query, 'title');
  const version = requiredText(query, 'version');
  const size = wholeNumberOf(query.get('size'), 'size', 'int');
  const chunk = wholeNumberOf(query.get('chunk'), 'chunk', 'int');
  const send = (device: PlatformDevice): Reply => {
    const ota = platform.packages.assigned(device, kind);
    const file = ota?.file;
    if (ota === undefined || file === undefined) return { status: 404 };
    if (title !== ota.title || version !== ota.version) return { status: 400 };
    const isWhole = size < 1 || platform.settings.wholeFileFirmware;
    // The real server multiplies in 32 bits, and fails without a word before the beginning.
    const start = isWhole ? 0 : Math.imul(size, chunk);
    if (start < 0) return { status: 500 };
    const from = Math.min(file.from + start, file.until);
    const until = isWhole ? file.until : Math.min(from + size, file.until);
    return {
      status: 200,
      body: readPart({ path: file.path, from, until }),
      contentType: 'application/octet-stream',
      headers: {
        'content-length': String(until - from),
        'x-filename': file.fileName,
        'content-disposition': `attachment;filename=${encodeURIComponent(file.fileName)}`,
      },
    };
  };
  return forDevice(platform, send, 'empty')(call);
}

function savePackage({ state: { packages }, settings }: LocalPlatform, call: Call): OtaPackage {
  const body = objectIn(call);
  const { title, version, type, tag, url } = body;
  if (typeof title !== 'string' || title === '' || typeof version !== 'string' || version === '')
    throw new PayloadFault('OtaPackage title and version should be specified!');
  const kind: OtaKind = type === 'SOFTWARE' ? 'SOFTWARE' : 'FIRMWARE';
  const id = idIn(body.id);
  if (
    packages.all.some(
      (other) => other.id !== id && other.kind === kind && other.title === title && other.version === version,
    )
  )
    throw new PayloadFault('OtaPackage with such title and version already exists!');
  const deviceProfileId = idIn(body.deviceProfileId);
  const ota: OtaPackage = {
    ...(packages.byId(id ?? '') ?? { id: randomUUID(), createdMs: settings.clock.wallMs() }),
    kind,
    title,
    version,
    ...(typeof tag === 'string' && tag !== '' ? { tag } : {}),
    ...(typeof url === 'string' && url !== '' ? { url } : {}),
    ...(deviceProfileId === undefined ? {} : { deviceProfileId }),
    ...checksumIn(body.checksum, body.checksumAlgorithm),
  };
  packages.put(ota);
  return ota;
}

async function fillPackage({ packages, state }: LocalPlatform, ota: OtaPackage, call: Call): Promise<OtaPackage> {
  const file = await receiveFile(call.request, call.headers['content-type'], await packages.pathFor(ota.id));
  const given = checksumIn(call.query.get('checksum') ?? undefined, call.query.get('checksumAlgorithm') ?? 'SHA256');
  const { checksumAlgorithm } = given;
  if (checksumAlgorithm === undefined) throw new PayloadFault('Unknown checksum algorithm');
  const checksum = await checksumOf(file, checksumAlgorithm);
  if (given.checksum !== undefined && given.checksum !== checksum) {
    await rm(file.path, { force: true });
    throw new PayloadFault('Wrong otaPackage checksum!');
  }
  const filled: OtaPackage = { ...ota, file, checksumAlgorithm, checksum };
  state.packages.put(filled);
  return filled;
}

function checksumIn(checksum: unknown, algorithm: unknown): Pick<OtaPackage, 'checksum' | 'checksumAlgorithm'> {
  const checksumAlgorithm = CHECKSUM_ALGORITHMS.find((known) => known === algorithm);
  return {
    ...(typeof checksum === 'string' && checksum !== '' ? { checksum } : {}),
    checksumAlgorithm,
  };
}

function packageJson(ota: OtaPackage): JsonObject {
  return {
    id: entityId('OTA_PACKAGE', ota.id),
    createdTime: ota.createdMs,
    tenantId: entityId('TENANT', TENANT_ID),
    deviceProfileId: entityId('DEVICE_PROFILE', ota.deviceProfileId),
    type: ota.kind,
    title: ota.title,
    version: ota.version,
    tag: ota.tag ?? null,
    url: ota.url ?? null,
    hasData: ota.file !== undefined || ota.url !== undefined,
    fileName: ota.file?.fileName ?? null,
    contentType: ota.file?.contentType ?? null,
    dataSize: ota.file === undefined ? 0 : ota.file.until - ota.file.from,
    checksum: ota.checksum ?? null,
    checksumAlgorithm: ota.checksumAlgorithm ?? null,
  };
}
