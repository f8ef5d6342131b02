/** Keeps variables and memory of this process from other processes of its user, as programs that are drivers are. */
import { nativeAddon } from './native-addon.ts';

interface ProcessAddon {
  hideProcess(): void;
}

/** A change of user undoes it. @throws AgentError `host/no-addon` (stop). */
export function hideProcess(): void {
  nativeAddon<ProcessAddon>().hideProcess();
}
