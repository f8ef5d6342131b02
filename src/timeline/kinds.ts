/** Kinds of events. */
export const TIMELINE_KINDS = [
  'command',
  'rule',
  'output',
  'alarm',
  'contact',
  'update',
  'start',
  'clock',
  'lockout',
  'config',
  'devices',
] as const;
export type TimelineKind = (typeof TIMELINE_KINDS)[number];

export function isKind(text: unknown): text is TimelineKind {
  return TIMELINE_KINDS.some((kind) => kind === text);
}
