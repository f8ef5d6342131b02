/** Images for a device that hangs on the gateway: offered, perhaps with a wrong checksum, perhaps withdrawn, and sent in pieces. */
import { createHash } from 'node:crypto';
import { ATTACHED_TITLE, type OfferedImage } from '../attached.ts';
import type { Stranger } from '../network.ts';
import { HOUR_MS, SECOND_MS, type Stroke, type Trouble, within } from './stroke.ts';

export const FIRMWARE_TROUBLES: readonly Trouble[] = [{ name: 'image offered', weight: 1, befall: imageOffered }];

/** As the site's configuration asks for them. */
const CHUNK_BYTES = 16_000;

function imageOffered(stroke: Stroke): void {
  const { world, chance } = stroke;
  const { state } = world.platform;
  const bytes = Buffer.from(
    Array.from({ length: Math.round(chance.magnitude(1_000, 300_000)) }, () => chance.between(0, 255)),
  );
  const image: OfferedImage = { version: `v${chance.between(0, 1e9)}`, bytes, isRight: chance.happens(0.8) };
  const offer = {
    fw_title: ATTACHED_TITLE,
    fw_version: image.version,
    fw_checksum: image.isRight ? createHash('sha256').update(bytes).digest('hex') : 'a'.repeat(64),
    fw_checksum_algorithm: 'SHA256',
    fw_size: bytes.length,
  };
  world.story.tell(`an image of ${bytes.length} bytes is offered${image.isRight ? '' : ', with a wrong checksum'}`);
  world.attached.offered.push(image);
  state.setAttributes(world.deviceId, 'SHARED_SCOPE', offer);
  const onPiece = cutsWhileLoading(stroke, Math.ceil(bytes.length / CHUNK_BYTES));
  const shut = world.network.intercept(({ method, path }) => {
    const piece =
      method === 'GET' && world.network.platform !== undefined
        ? pieceOf(image, new URL(path, 'http://platform.example'))
        : undefined;
    if (piece !== undefined) onPiece();
    return piece;
  });
  if (chance.happens(0.5)) return;
  world.timeline.after(within(stroke, chance.magnitude(SECOND_MS, HOUR_MS)), () => {
    shut();
    const [present] = state.attributes.read(world.deviceId, 'SHARED_SCOPE', ['fw_version']);
    if (present?.value !== image.version) return;
    world.story.tell('the image is withdrawn');
    state.removeAttributes(world.deviceId, 'SHARED_SCOPE', Object.keys(offer));
  });
}

/** In some the power goes as a piece is written: what is there of the file is not what was written of it. */
function cutsWhileLoading({ world, chance }: Stroke, pieces: number): () => void {
  let left = chance.happens(0.4) ? chance.between(1, pieces) : 0;
  const changes = chance.between(1, 3);
  const offMs = chance.magnitude(2 * SECOND_MS, 60 * SECOND_MS);
  return () => {
    left -= 1;
    if (left !== 0) return;
    world.disk.cutAt(changes, 'inside', () => {
      world.story.tell('the power goes while an image is loaded');
      world.cutPower(offMs);
    });
  };
}

/** As the platform gives it: bytes from size × chunk on, and all of them without a size. */
function pieceOf({ version, bytes }: OfferedImage, { pathname, searchParams }: URL): Stranger | undefined {
  if (!pathname.endsWith('/firmware') || searchParams.get('version') !== version) return undefined;
  const size = Number(searchParams.get('size') ?? 0);
  const from = size * Number(searchParams.get('chunk') ?? 0);
  const body = size === 0 ? bytes : bytes.subarray(from, from + size);
  return { status: 200, body, contentType: 'application/octet-stream', isPlatforms: true };
}
