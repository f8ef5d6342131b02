/** `turnstone claim`: lets a user of the platform take this device, by a secret shown as text and as a QR code. */
import { type Command, InvalidArgumentError } from 'commander';
import { renderUnicodeCompact } from 'uqr';
import { formatDuration, parseDuration } from '../config/quantity.ts';
import { systemClock } from '../host/clock.ts';
import { stringifyJson } from '../host/json.ts';
import { claimText, type OpenClaim } from '../provisioning/claim-device.ts';
import type { AgentFlags } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { addIdentityOptions, openIdentity, secretFrom } from './identity-access.ts';
import { printable, styleFor } from './style.ts';

interface ClaimFlags extends AgentFlags {
  readonly secretKeyFile?: string;
  readonly ask?: boolean;
  readonly duration?: number;
  readonly json?: boolean;
  readonly qr: boolean;
}

const EXAMPLES = `
Examples:
  $ turnstone claim
  $ turnstone claim --duration 10m
  $ turnstone claim --secret-key-file /root/claim-secret --duration 1h
  $ turnstone claim --ask

Without a secret an unguessable one is made. Whoever enters device name and secret at the platform, or scans the code, owns the
device. The platform keeps the first claim until it expires; until then its secret is shown again.`;

export function addClaimCommand(program: Command, edge: Edge): void {
  const command = program.command('claim').description('let a user of the platform claim this device');
  addIdentityOptions(command)
    .option('--secret-key-file <file>', 'the secret, from a file')
    .option('--ask', 'ask for the secret')
    .option('--duration <duration>', 'how long the claim stands (default: what the platform is set to)', duration)
    .option('--no-qr', 'without the QR code')
    .option('--json', 'print the claim as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: ClaimFlags) => {
      const asksForSecret = flags.secretKeyFile !== undefined || flags.ask === true;
      const secretKey = asksForSecret ? await secretFrom(flags.secretKeyFile, 'Secret for this claim: ', edge) : undefined;
      const identity = await openIdentity(flags, edge);
      try {
        const claim = await identity.request('claim', {
          ...(secretKey === undefined ? {} : { secretKey }),
          ...(flags.duration === undefined ? {} : { durationMs: flags.duration }),
        });
        if (flags.json === true) edge.stdout.write(`${stringifyJson(claim)}\n`);
        else edge.stdout.write(claimPage(claim as unknown as OpenClaim, flags, edge));
      } finally {
        await identity.close();
      }
    });
}

function claimPage(claim: OpenClaim, flags: ClaimFlags, edge: Edge): string {
  const { bold } = styleFor(edge.stdout, edge.environment);
  const leftMs = Math.max(1_000, Math.round((claim.untilMs - systemClock.wallMs()) / 1_000) * 1_000);
  const until = `${claim.untilIsEstimate ? 'about ' : ''}${formatDuration(leftMs)}`;
  const again = claim.alreadyOpen ? 'An earlier claim is still open; the platform takes no other before it ends.\n' : '';
  const name = claim.deviceName === undefined ? '' : `device   ${bold(printable(claim.deviceName))}\n`;
  const code = flags.qr ? `\n${renderUnicodeCompact(claimText(claim), { border: 2, ecc: 'M' })}\n` : '';
  return `${again}${name}secret   ${bold(printable(claim.secretKey))}\nvalid    ${until}\n${code}`;
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms < 1_000) throw new InvalidArgumentError('write a duration such as 10m or 2h');
  return ms;
}
