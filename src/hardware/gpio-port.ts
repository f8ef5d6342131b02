/** GPIO as the agent sees it: lines are asked for by the name a technician uses, levels are logical (after active-low). */

/** 1 is active: high, or low when the line is active-low. */
export type Level = 0 | 1;

/** A chip's label or name with the line's offset on it; or the name of a line, which includes a BCM number as `GPIO17`. */
export type LineReference = string | { readonly chip: string; readonly offset: number };

export type LineBias = 'as-is' | 'disabled' | 'pull-up' | 'pull-down';
export type LineDrive = 'push-pull' | 'open-drain' | 'open-source';
export type LineEdges = 'none' | 'rising' | 'falling' | 'both';

export interface InputRequest {
  readonly line: LineReference;
  readonly activeLow?: boolean;
  /** Default `none`: the line can only be read. */
  readonly edges?: LineEdges;
  /** Default `as-is`. */
  readonly bias?: LineBias;
  /** How long a level must hold before an edge counts; in the kernel where it can, else by the adapter. */
  readonly debounceMs?: number;
}

export interface OutputRequest {
  readonly line: LineReference;
  readonly activeLow?: boolean;
  /** The first level, set in the moment the line becomes an output; `keep` leaves what an output shows now, an input becomes 0. */
  readonly initial: Level | 'keep';
  /** Default `push-pull`. */
  readonly drive?: LineDrive;
}

export interface LineEdge {
  /** The level after the edge. */
  readonly level: Level;
  /** When, in ms since boot: the kernel's stamp where it gives one, else when it was noticed. */
  readonly monotonicMs: number;
  /** Edges that the kernel counted but could not deliver before this one. */
  readonly missed: number;
}

export interface GpioInput {
  /** @throws AgentError `hardware/gpio-failed` (retry). */
  read(signal: AbortSignal): Promise<Level>;
  /** Calls back at every edge that was asked for, until the returned function is called. */
  watch(listener: (edge: LineEdge) => void): () => void;
  /** Releases the line. Idempotent. */
  close(): Promise<void>;
}

export interface GpioOutput {
  /** @throws AgentError `hardware/gpio-failed` (retry): the line may or may not have moved. */
  write(level: Level, signal: AbortSignal): Promise<void>;
  /** Returns the line's level, read back from the hardware. @throws AgentError `hardware/gpio-failed` (retry). */
  read(signal: AbortSignal): Promise<Level>;
  /** Releases the line; it keeps its level as long as the kernel's driver lets it. Idempotent. */
  close(): Promise<void>;
}

/** One line, for people who look for it. */
export interface LineDescription {
  readonly chip: string;
  readonly label: string;
  readonly offset: number;
  readonly name?: string;
  /** Consumer that holds the line now. */
  readonly holder?: string;
  readonly direction?: 'in' | 'out';
}

export interface GpioPort {
  /** @throws AgentError `hardware/gpio-no-line`, `hardware/gpio-no-chip`, `hardware/gpio-busy`, `hardware/no-permission` (all retry), `hardware/unsupported` (hold). */
  openInput(request: InputRequest, signal: AbortSignal): Promise<GpioInput>;
  /** @throws the same as openInput. */
  openOutput(request: OutputRequest, signal: AbortSignal): Promise<GpioOutput>;
  /** Every line of every chip. */
  list(signal: AbortSignal): Promise<readonly LineDescription[]>;
  /** Releases every line. Idempotent. */
  close(): Promise<void>;
}

/** A reference in words, for messages. */
export function lineInWords(line: LineReference): string {
  return typeof line === 'string' ? line : `${line.chip} line ${line.offset}`;
}
