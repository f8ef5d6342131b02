/** GPIO for tests: one input whose every level and edge is of the test, one output that remembers. */
import type { GpioPort } from '../../src/hardware/gpio-port.ts';
import type { Ports } from '../../src/hardware/ports.ts';

export class FewLines {
  level: 0 | 1 | Error = 0;
  edge: () => void = () => {};
  readonly written: number[] = [];
  closeOutput: () => Promise<void> = async () => {};

  get ports(): Ports {
    const read = async (): Promise<0 | 1> => {
      if (this.level instanceof Error) throw this.level;
      return this.level;
    };
    const gpio: Partial<GpioPort> = {
      openInput: async () => ({
        read,
        watch: (listener) => {
          this.edge = () => listener({ level: 1, monotonicMs: 0, missed: 0 });
          return () => {};
        },
        close: async () => {},
      }),
      openOutput: async () => ({
        write: async (level) => void this.written.push(level),
        read: async () => (this.written.at(-1) === 1 ? 1 : 0),
        close: () => this.closeOutput(),
      }),
    };
    // Nothing else is asked for.
    return { gpio, close: async () => {} } as Partial<Ports> as Ports;
  }
}
