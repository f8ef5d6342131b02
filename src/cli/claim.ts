/** Opens a claim on this device, or shows the one that is open. */
import { renderUnicodeCompact } from 'uqr';
import { formatDuration } from '../config/fields/quantity.ts';
import { systemClock } from '../host/clock.ts';
import { given } from '../host/given.ts';
import { claimText, type OpenClaim } from '../provisioning/claim-device.ts';
import type { ClaimCall } from './commands/claim.ts';
import { askIdentity } from './identity.ts';
import { printable, type Style } from './printer.ts';
import { secretFrom } from './secret-from.ts';

export async function claim(call: ClaimCall): Promise<void> {
  const { flags, edge, print } = call;
  const asksForSecret = flags.secretKeyFile !== undefined || flags.ask === true;
  const secretKey = asksForSecret ? await secretFrom(flags.secretKeyFile, 'Secret for this claim: ', edge) : undefined;
  const opened = await askIdentity<OpenClaim>(call, 'claim', given({ secretKey, durationMs: flags.duration }));
  print.result(opened, () => claimPage(opened, flags.qr, print.style));
}

function claimPage(claim: OpenClaim, withCode: boolean, { bold }: Style): string {
  const leftMs = Math.max(1_000, Math.round((claim.untilMs - systemClock.wallMs()) / 1_000) * 1_000);
  const until = `${claim.untilIsEstimate ? 'about ' : ''}${formatDuration(leftMs)}`;
  const again = claim.alreadyOpen ? 'An earlier claim is still open; the platform takes no other before it ends.\n' : '';
  const name = claim.deviceName === undefined ? '' : `device   ${bold(printable(claim.deviceName))}\n`;
  const code = withCode ? `\n${renderUnicodeCompact(claimText(claim), { border: 2, ecc: 'M' })}\n` : '';
  return `${again}${name}secret   ${bold(printable(claim.secretKey))}\nvalid    ${until}\n${code}`;
}
