/** The board's GPIO lines: inputs follow their signals and make edges at the moment they jump, outputs are recorded as they are written. */
import type {
  InputRequest,
  Level,
  LineDescription,
  LineEdge,
  LineReference,
  OutputRequest,
} from '../../hardware/gpio-port.ts';
import type { BoardConfig } from './board-config.ts';
import { type BoardContext, boardFault } from './simulated-part.ts';

export interface HeldLine {
  read(): Level;
  write(level: Level): void;
  release(): void;
}

interface Line {
  readonly chip: BoardConfig['gpio'][number];
  readonly offset: number;
  readonly name: string | undefined;
  /** `gpiochip0:17`, in the record and as the target of signals. */
  readonly id: string;
  /** Physical. */
  level: Level;
  direction: 'in' | 'out';
  holder: string | undefined;
  watch: ((monotonicMs: number) => void) | undefined;
}

/** A turnstone user holds it. */
const CONSUMER = 'turnstone';

/** Sysfs tells of a level, not of edges, and only as often as the agent gets to look: the lab lost 2,354 of 6,000 at 200 a second. */
const MERGED_WITHIN_MS = 10;

export class SimulatedGpio {
  readonly #context: BoardContext;
  readonly #lines: readonly Line[];
  readonly #timers = new Map<string, () => void>();

  constructor(chips: BoardConfig['gpio'], context: BoardContext) {
    this.#context = context;
    this.#lines = chips.flatMap((chip) =>
      Array.from({ length: chip.lines }, (_, offset): Line => {
        const id = `${chip.chip}:${offset}`;
        return {
          chip,
          offset,
          name: chip.names[offset],
          id,
          level: 0,
          direction: 'in',
          holder: chip.held[offset],
          watch: undefined,
        };
      }),
    );
    for (const { chip, inputs } of chips) {
      for (const { offset, signal } of inputs) {
        const line = this.#lines.find(({ id }) => id === `${chip}:${offset}`);
        if (line === undefined)
          throw boardFault('hardware/gpio-no-line', `${chip}:${offset} has a signal, but there is no such line`);
        context.signals.add(line.id, signal);
        this.#sample(line);
      }
    }
    for (const line of this.#lines) context.signals.onHold(line.id, () => this.#sample(line));
  }

  openInput(request: InputRequest, onEdge: (edge: LineEdge) => void): HeldLine {
    const line = this.#take(request.line);
    line.direction = 'in';
    const invert = request.activeLow === true;
    const edges = request.edges ?? 'none';
    let cancelReport = (): void => {};
    let isMerging = false;
    let reported = logical(line.level, invert);
    const report = (atMs: number): void => {
      const level = logical(line.level, invert);
      if (level === reported) return;
      reported = level;
      if (edges === 'both' || edges === (level === 1 ? 'rising' : 'falling'))
        onEdge({ level, monotonicMs: atMs, missed: 0 });
    };
    line.watch = (atMs) => {
      if (isMerging) return;
      cancelReport();
      isMerging = this.#context.faults.of(line.chip.chip) === 'merge';
      const waitMs = isMerging ? MERGED_WITHIN_MS : (request.debounceMs ?? 0);
      if (waitMs === 0) return report(atMs);
      cancelReport = this.#context.clock.after(waitMs, () => {
        isMerging = false;
        report(this.#context.clock.monotonicMs());
      });
    };
    this.#sample(line);
    if (request.bias === 'pull-up' && !this.#context.signals.has(line.id)) this.#put(line, 1);
    reported = logical(line.level, invert);
    return {
      read: () => {
        this.#checkPlugged(line);
        this.#sample(line);
        const level = logical(line.level, invert);
        // As the sensor reports it: true or false.
        this.#context.record.add('shown', line.id, this.#keyOf(line), level === 1);
        return level;
      },
      write: () => {
        throw boardFault('hardware/gpio-failed', `${inWords(line)} is an input`);
      },
      release: () => {
        cancelReport();
        line.watch = undefined;
        line.holder = undefined;
      },
    };
  }

  openOutput(request: OutputRequest): HeldLine {
    const line = this.#take(request.line);
    const invert = request.activeLow === true;
    const wasOutput = line.direction === 'out';
    line.direction = 'out';
    if (request.initial !== 'keep') this.#drive(line, logical(request.initial, invert));
    else if (!wasOutput) this.#drive(line, logical(0, invert));
    return {
      read: () => {
        this.#checkPlugged(line);
        return logical(line.level, invert);
      },
      write: (level) => {
        this.#checkPlugged(line);
        this.#drive(line, logical(level, invert));
      },
      release: () => {
        line.holder = undefined;
      },
    };
  }

  list(): readonly LineDescription[] {
    return this.#lines.map(({ chip, offset, name, holder, direction }) => ({
      chip: chip.chip,
      label: chip.label,
      offset,
      name,
      holder,
      direction,
    }));
  }

  /** `gpiochip0:17` for that, for a name, or for a BCM number. */
  idOf(text: string): string {
    const colon = text.lastIndexOf(':');
    const reference = colon > 0 ? { chip: text.slice(0, colon), offset: Number(text.slice(colon + 1)) } : text;
    return this.#find(reference).id;
  }

  close(): void {
    for (const cancel of this.#timers.values()) cancel();
  }

  /** A chip can be pulled out (an expander on a cable, a module): its lines fail, and make no more edges. */
  #checkPlugged({ chip }: Line): void {
    if (this.#context.faults.of(chip.chip) === 'unplug')
      throw boardFault('hardware/gpio-failed', `GPIO chip ${chip.label} is gone (ENODEV)`);
  }

  #take(reference: LineReference): Line {
    const line = this.#find(reference);
    if (this.#context.faults.of(line.chip.chip) === 'unplug')
      throw boardFault('hardware/gpio-no-chip', `the simulated board has no GPIO chip ${line.chip.label} now`);
    if (line.holder !== undefined) throw boardFault('hardware/gpio-busy', `${inWords(line)} is held by ${line.holder}`);
    line.holder = CONSUMER;
    return line;
  }

  #find(reference: LineReference): Line {
    if (typeof reference !== 'string') {
      const ofChip = this.#lines.filter(({ chip }) => chip.chip === reference.chip || chip.label === reference.chip);
      if (ofChip.length === 0)
        throw boardFault('hardware/gpio-no-chip', `the simulated board has no GPIO chip ${reference.chip}`);
      const line = ofChip.find(({ offset }) => offset === reference.offset);
      if (line === undefined)
        throw boardFault('hardware/gpio-no-line', `GPIO chip ${reference.chip} has lines 0 to ${ofChip.length - 1}`);
      return line;
    }
    const bcm = /^(?:GPIO|BCM)(\d{1,3})$/i.exec(reference)?.[1];
    const line =
      this.#lines.find(({ name }) => name === reference) ??
      this.#lines.find(({ offset, name }) => name === undefined && bcm !== undefined && offset === Number(bcm));
    if (line === undefined)
      throw boardFault('hardware/gpio-no-line', `the simulated board has no GPIO line ${reference}`);
    return line;
  }

  /** Wakes at every jump of the line's signal, held by an agent or not: a door opens whether or not anyone looks. */
  #sample(line: Line): void {
    if (line.direction === 'out' || !this.#context.signals.has(line.id)) return;
    this.#put(line, this.#context.signals.value(line.id) >= 0.5 ? 1 : 0);
    this.#timers.get(line.id)?.();
    const { clock, signals } = this.#context;
    const nextMs = signals.nextChangeMs(line.id);
    if (nextMs === undefined) return;
    const cancel = clock.after(nextMs - clock.monotonicMs(), () => this.#sample(line));
    this.#timers.set(line.id, cancel);
  }

  #put(line: Line, level: Level): void {
    if (line.level === level) return;
    line.level = level;
    const { atMs } = this.#context.record.add('input', line.id, this.#keyOf(line), level);
    if (this.#context.faults.of(line.chip.chip) !== 'unplug') line.watch?.(atMs);
  }

  #drive(line: Line, level: Level): void {
    this.#context.record.add(line.level === level ? 'written' : 'moved', line.id, this.#keyOf(line), level);
    line.level = level;
  }

  #keyOf(line: Line): string {
    return line.chip.inputs.find(({ offset }) => offset === line.offset)?.key ?? line.name ?? line.id;
  }
}

/** Active-low is its own inverse. */
function logical(level: Level, invert: boolean): Level {
  return invert ? (level === 1 ? 0 : 1) : level;
}

function inWords(line: Line): string {
  return `GPIO line ${line.offset} of ${line.chip.label}${line.name === undefined ? '' : ` (${line.name})`}`;
}
