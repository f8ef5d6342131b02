/** Images that an attached device is flashed with. */
import type { World } from '../world.ts';
import { few, type Sentence, seconds } from './sentence.ts';

export const IMAGES: readonly Sentence[] = [
  {
    name: 'an attached device is flashed with what was offered, whole, and with nothing that fails its checksum',
    contradictions: flashed,
  },
  {
    name: 'an image that is offered to the end is flashed, unless the disk or an end came in between',
    contradictions: offered,
  },
];

function flashed({ attached }: World): string[] {
  return few(
    attached.flashed.flatMap(({ atMs, version, bytes }) => {
      const image = attached.offered.find((one) => one.version === version);
      return image?.isRight === true && image.bytes.equals(bytes)
        ? []
        : [`at ${seconds(atMs)} with ${bytes.length} bytes as ${version}`];
    }),
  );
}

function offered({ attached, platform, deviceId, disk, fills }: World): string[] {
  const [present] = platform.state.attributes.read(deviceId, 'SHARED_SCOPE', ['fw_version']);
  const image = attached.offered.find(({ version }) => version === present?.value);
  if (image === undefined || !image.isRight || disk.wasFaulty || fills.length > 0) return [];
  const runs = attached.flashed.filter(({ version }) => version === image.version);
  return runs.length > 0 ? [] : [`${image.version} of ${image.bytes.length} bytes is not`];
}
