/** One round of asking the platform for credentials, and what its answer means for a technician. Nothing is kept here. */
import { AgentError, messageOf } from '../errors/agent-error.ts';
import type { ProvisionAnswer } from '../platform/device-api.ts';
import { PlatformError } from '../platform/platform-error.ts';
import { type CredentialsRecord, tokensOf } from './credentials-record.ts';
import type { ProvisioningDeps } from './provision-device.ts';

export type Outcome =
  | { readonly kind: 'token'; readonly accessToken: string }
  /** `busy`: ask again soon. `held`: a portal or proxy is in the way. `refused`: only a person at the platform can change it. */
  | { readonly kind: 'busy' | 'held' | 'refused'; readonly explanation: string; readonly retryAfterMs?: number };

/** Asks with each secret until one is known, and finds out whether a refusal only means that an earlier request went through. */
export async function askPlatform(
  deps: ProvisioningDeps,
  proposal: CredentialsRecord,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    for (const secret of deps.secrets) {
      deps.onStep?.('asking');
      const answer = await deps.provision(
        {
          deviceName: proposal.deviceName ?? deps.deviceName,
          provisionDeviceKey: secret.deviceKey,
          provisionDeviceSecret: secret.deviceSecret,
          token: proposal.accessToken,
        },
        signal,
      );
      deps.onStep?.('answered');
      if (answer.status === 'SUCCESS') return success(answer);
      if (answer.status === 'FAILURE') return await afterFailure(deps, proposal, answer.errorMsg, signal);
    }
    // Provisioning may have been switched off since; this board's device may exist all the same.
    const own = await workingToken(deps, proposal, signal);
    return own === undefined ? { kind: 'refused', explanation: noProfile(deps) } : { kind: 'token', accessToken: own };
  } catch (error) {
    return await afterFault(deps, proposal, error, signal);
  }
}

function noProfile({ words }: ProvisioningDeps): string {
  return (
    `the platform knows no device profile for the provisioning key and secret: check ${words.provisioningKey}` +
    ' against the device profile, and that provisioning is switched on in it'
  );
}

function success(answer: Extract<ProvisionAnswer, { status: 'SUCCESS' }>): Outcome {
  if (answer.credentialsType === 'ACCESS_TOKEN') return { kind: 'token', accessToken: answer.credentialsValue };
  return {
    kind: 'refused',
    explanation: `the platform gave credentials of type ${answer.credentialsType.slice(0, 40)}; this agent uses access tokens: choose them in the device profile`,
  };
}

/** The name is taken: by ourselves, when one of our tokens works. */
async function afterFailure(
  deps: ProvisioningDeps,
  proposal: CredentialsRecord,
  said: string,
  signal: AbortSignal,
): Promise<Outcome> {
  const own = await workingToken(deps, proposal, signal);
  if (own !== undefined) {
    deps.onStep?.('own-token-works');
    return { kind: 'token', accessToken: own };
  }
  const name = proposal.deviceName ?? deps.deviceName;
  const { enterToken } = deps.words;
  const explanation =
    `device exists, token unknown: the platform has a device "${name}" whose access token this board does not have` +
    `${said === '' ? '' : ` (it says: ${said})`}. ${enterToken}, or delete the device at the platform` +
    ` and this board takes its place. If the profile only admits devices entered beforehand, enter "${name}" there`;
  return { kind: 'refused', explanation };
}

async function workingToken(
  deps: ProvisioningDeps,
  proposal: CredentialsRecord,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const token of tokensOf(proposal)) if (await deps.tokenWorks(token, signal)) return token;
  return undefined;
}

/** After a fault it is unknown whether the platform made the device; asking again with the same token is always right. */
async function afterFault(
  deps: ProvisioningDeps,
  proposal: CredentialsRecord,
  error: unknown,
  signal: AbortSignal,
): Promise<Outcome> {
  if (!(error instanceof AgentError)) throw error;
  const explanation = `provisioning: ${messageOf(error)}`;
  if (error.recovery === 'retry') {
    return {
      kind: 'busy',
      explanation,
      retryAfterMs: error instanceof PlatformError ? error.retryAfterMs : undefined,
    };
  }
  if (error.code === 'platform/portal') return { kind: 'held', explanation };
  // The platform refuses in words of its own: some versions do so for a token that is in use, also when the device is ours.
  const own = await workingToken(deps, proposal, signal).catch(() => undefined);
  return own === undefined ? { kind: 'refused', explanation } : { kind: 'token', accessToken: own };
}
