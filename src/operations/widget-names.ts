/**
 * Methods that the platform's widgets call where nobody has changed their settings (WIDGETS.md). Each expects the bare value, and takes any
 * JSON for a state: also where the device has no such method, a refusal is a text.
 */
export const READ_NAMES = ['getValue', 'getState', 'checkStatus'] as const;
export const SET_NAMES = ['setValue', 'setState'] as const;
const PANEL_NAMES = ['getGpioStatus', 'setGpioStatus'] as const;

const NAMES: ReadonlySet<string> = new Set([...READ_NAMES, ...SET_NAMES, ...PANEL_NAMES]);

export function isWidgetName(method: string): boolean {
  return NAMES.has(method);
}
