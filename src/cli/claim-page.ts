/** An open claim as people read it, with its QR code: of the gateway, and of an attached device. */
import { renderUnicodeCompact } from 'uqr';
import { formatDuration } from '../config/fields/quantity.ts';
import { claimText, type OpenClaim } from '../devices/claim-device.ts';
import { systemClock } from '../host/clock.ts';
import { printable } from '../names/printable.ts';
import type { Style } from './printer.ts';

export function claimPage(claim: OpenClaim, withCode: boolean, { bold }: Style): string {
  const leftMs = Math.max(1_000, Math.round((claim.untilMs - systemClock.wallMs()) / 1_000) * 1_000);
  const until = `${claim.untilIsEstimate ? 'about ' : ''}${formatDuration(leftMs)}`;
  const again = claim.alreadyOpen
    ? 'An earlier claim is still open; the platform takes no other before it ends.\n'
    : '';
  const name = claim.deviceName === undefined ? '' : `device   ${bold(printable(claim.deviceName))}\n`;
  const code = withCode ? `\n${renderUnicodeCompact(claimText(claim), { border: 2, ecc: 'M' })}\n` : '';
  return `${again}${name}secret   ${bold(printable(claim.secretKey))}\nvalid    ${until}\n${code}`;
}
