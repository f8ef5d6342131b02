/** Something a scan found. */
export interface Finding {
  /** `i2c-1 0x76`, `/dev/ttyUSB0`, `gpiochip0 line 17`. */
  readonly where: string;
  /** A kind of sensor, or words. */
  readonly what: string;
  /** `sure`: by an id; `likely`: by what it says or its values after power-on; `by-address`: nothing else speaks against it. */
  readonly certainty: 'sure' | 'likely' | 'by-address' | 'unknown';
  /** A line for the configuration's `sensors`, ready to use but for its name. */
  readonly snippet?: string;
  /** More for people: maker, holder, a first value. */
  readonly detail?: string;
}
