/** System errors of device files, in words that say what to do: which group to join, what is missing, who is in the way. */
import { AgentError, retryable, systemCode } from '../errors/agent-error.ts';

/** The group that owns each class of device file where udev rules set one (ours do; Raspberry Pi OS does too). */
const GROUPS = { gpio: 'gpio', i2c: 'i2c', serial: 'dialout', pwm: 'gpio' } as const;

/** An error for a device file that may not be used, or undefined when that is not what happened. */
export function permissionFault(kind: keyof typeof GROUPS, what: string, cause: unknown): AgentError | undefined {
  const group = GROUPS[kind];
  const reasons: Readonly<Record<string, string>> = {
    EACCES: `no permission; the user must be in group ${group} (usermod -aG ${group} USER, then log in again)`,
    EROFS: 'the file system is read-only for this service (install.sh --with sysfs opens /sys for it)',
    // Not a matter of groups: the service's device list is fixed when it starts (systemd.resource-control(5), DeviceAllow=).
    EPERM:
      'outside of the devices that the service may open; restart needed, after /opt/turnstone/guard/narrow-devices has allowed it',
  };
  const reason = reasons[systemCode(cause) ?? ''];
  return reason === undefined ? undefined : retryable('hardware/no-permission', `${what}: ${reason}`, cause);
}

/** A permission fault if it is one, else an error with the given code that keeps the system's own name for it. */
export function hardwareFault(
  kind: keyof typeof GROUPS,
  code: `hardware/${string}`,
  what: string,
  cause: unknown,
): AgentError {
  if (cause instanceof AgentError) return cause;
  const name = systemCode(cause);
  return permissionFault(kind, what, cause) ?? retryable(code, name === undefined ? what : `${what} (${name})`, cause);
}
