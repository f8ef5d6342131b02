/** Conditions that a person must know of: each is raised by name, stands until it is cleared, and is shown by status, log and doctor. */

export interface Alerts {
  /** Raising again replaces the message. */
  raise(name: string, message: string): void;
  /** Does nothing when it is not raised. */
  clear(name: string): void;
}
