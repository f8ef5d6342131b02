/** What the platform is told of updates: wire spellings, in one place. */
import type { JsonValue } from '../host/json.ts';
import { type PackageKind, prefixOf } from './firmware-offer.ts';
import type { UpdateJournal } from './update-journal.ts';
import { reportedState } from './update-states.ts';

type Report = Readonly<Record<string, JsonValue>>;

/** What runs, as it is told after every start. */
export function runningReport(title: string, version: string): Report {
  return { current_fw_title: title, current_fw_version: version };
}

/** Undefined for states that are nobody's concern. */
export function stateReport(kind: PackageKind, { state, update }: UpdateJournal): Report | undefined {
  const prefix = prefixOf(kind);
  const reported = reportedState(state);
  if (reported === undefined || update === undefined) return undefined;
  return {
    [`${prefix}_state`]: reported,
    ...(state === 'failed' ? { [`${prefix}_error`]: update.reason ?? 'unknown' } : {}),
    ...(state === 'updated' ? { [`current_${prefix}_title`]: update.title, [`current_${prefix}_version`]: update.version } : {}),
  };
}
