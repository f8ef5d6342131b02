/** The status page's server over a status that tests write, for the states that a real agent shows only on bad days. */

import { type Clock, systemClock } from '../../src/host/clock.ts';
import { silentLog } from '../../src/host/log.ts';
import { systemRandomBytes } from '../../src/host/random.ts';
import type { LocalDoor } from '../../src/operations/local-door.ts';
import { LogRing } from '../../src/page-server/log-ring.ts';
import { openPageCertificate } from '../../src/page-server/page-certificate.ts';
import type { PageFacts } from '../../src/page-server/page-facts.ts';
import { StatusServer, type StatusServerDeps, type StatusServerSettings } from '../../src/page-server/page-server.ts';
import type { StatusView } from '../../src/status/status-view.ts';
import type { TimelineEvent } from '../../src/timeline/event.ts';
import { readTimelineQuery, selectEvents } from '../../src/timeline/query.ts';
import { MemoryFiles } from './memory-files.ts';

export class StatusBench {
  view: (nowMs: number, wallMs: number) => StatusView = workingView;
  claim: StatusServerDeps['claim'] = async () => undefined;
  series: StatusServerDeps['series'] = twoPoints;
  facts: PageFacts = { mayControl: false, sensors: {}, outputs: {} };
  operations: LocalDoor | undefined;
  /** The timeline. */
  events: readonly TimelineEvent[] = [];
  /** Lines of the server in the agent's log. */
  readonly told: string[] = [];
  readonly infos: string[] = [];
  /** Fields of those lines. */
  readonly infoFields: object[] = [];
  /** Hold the certificate of its page in the LAN. */
  readonly files = new MemoryFiles();
  readonly #settings: StatusServerSettings;
  readonly #clock: Clock;
  readonly #listeners = new Set<(line: string) => void>();
  #logLines: LogRing | undefined;
  #server: StatusServer | undefined;
  #port: number;

  private constructor(settings: Partial<StatusServerSettings>, clock: Clock) {
    this.#settings = { page: 'loopback', port: 0, metrics: true, ...settings };
    this.#clock = clock;
    this.#port = this.#settings.port;
  }

  static async open(
    settings: Partial<StatusServerSettings> = {},
    clock: Clock = systemClock,
    operations?: LocalDoor,
  ): Promise<StatusBench> {
    const bench = new StatusBench(settings, clock);
    bench.operations = operations;
    await bench.start();
    return bench;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** As a browser in the LAN asks. */
  get secureUrl(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  get fingerprint(): string | undefined {
    return this.#server?.fingerprint;
  }

  get openPages(): number {
    return this.#server?.openPages ?? 0;
  }

  log(line: object): void {
    for (const listener of this.#listeners) listener(`${JSON.stringify(line)}\n`);
  }

  /** A second time on the port of the first. */
  async start(): Promise<void> {
    const clock = this.#clock;
    this.#logLines = new LogRing({
      onLine: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      redact: (text) => text.replaceAll('s3cret-token', '[secret]'),
    });
    this.#server = await StatusServer.open({
      settings: { ...this.#settings, port: this.#port },
      clock,
      randomBytes: systemRandomBytes,
      log: {
        ...silentLog,
        info: (fields, message) => {
          this.infos.push(message);
          this.infoFields.push(fields);
        },
        warn: (_fields, message) => this.told.push(message),
      },
      logLines: this.#logLines,
      view: () => this.view(clock.monotonicMs(), clock.wallMs()),
      facts: () => this.facts,
      operations: this.operations,
      metrics: () => [{ name: 'turnstone_alerts', help: 'Things.', type: 'gauge', samples: [{ value: 2 }] }],
      health: () => ({
        health: { ok: true, reasons: [] },
        readiness: { ok: false, reasons: ['nothing was acknowledged since the start'] },
      }),
      series: (query, signal) => this.series(query, signal),
      timeline: (params) => {
        const query = readTimelineQuery(params);
        return typeof query === 'string' ? query : selectEvents(this.events, query);
      },
      diagnose: async () => ({
        verdict: 'warning',
        findings: [{ id: 'disk', title: 'disk', verdict: 'warning', reason: '91 % full', remedy: 'make room' }],
        good: ['clock'],
      }),
      claim: () => this.claim(),
      certificate: () =>
        openPageCertificate({ files: this.files, clock, log: silentLog, stateFolder: '/state', hostname: 'gateway-7' }),
    });
    this.#port = Number(new URL(this.#server.url ?? 'http://x:0').port);
  }

  async stop(): Promise<void> {
    await this.#server?.close();
    this.#logLines?.close();
  }
}

const twoPoints: StatusServerDeps['series'] = async ({ keys, fromMs, toMs }) =>
  Object.fromEntries(
    keys.map((key) => [
      key,
      [
        [fromMs, (fromMs + toMs) / 2],
        [20, 22],
      ] as const,
    ]),
  );

export function workingView(nowMs: number, wallMs: number): StatusView {
  return {
    version: '1.2.3',
    nowMs,
    wallMs,
    startedAtMs: nowMs - 7_200_000,
    deviceName: 'gateway-7',
    timeSynchronised: true,
    lockedOut: false,
    alerts: [],
    sentences: {},
    alarms: [],
    adapted: { renamed: 0, retimed: 0, asText: 0 },
    writes: {
      agentBytesPerDay: 24e6,
      disk: { name: 'mmcblk0', bytesPerDay: 310e6 },
      words: 'the agent writes 24MB a day, the disk mmcblk0 takes 310MB a day',
    },
    link: {
      usedBytes: 0,
      todayBytes: 0,
      beginsAtMs: wallMs,
      endsAtMs: wallMs + 1,
      features: { telemetry: 0, calls: 0, firmware: 0, polls: 0 },
      step: 'everything',
      words: '0 B this month',
    },
    platform: {
      state: 'reached',
      sinceMs: nowMs - 7_000_000,
      lastHeardAtMs: nowMs - 900,
      lastAcknowledgedAtMs: nowMs - 900,
      verdict: 'good',
      words: 'up to date',
    },
    connection: {
      state: 'idle',
      failures: 0,
      acknowledgedEntries: 1_234,
      lastAcknowledgedAtMs: nowMs - 900,
      latencyMs: 42,
      sentBytes: 123_456,
      receivedBytes: 23_456,
    },
    outbox: {
      heldEntries: 12,
      heldBytes: 4_096,
      hoursThatFit: 90,
      rejected: 0,
      thinned: 0,
      dropped: 0,
      damaged: 0,
      resent: 0,
      writtenBytes: 1_000_000,
      oldestTs: wallMs - 2_000,
      lanes: { alarm: 0, live: 12, backlog: 0 },
      ratePerS: 10,
    },
    sensors: [
      {
        name: 'roof',
        kind: 'bme280',
        state: 'ok',
        readings: [
          { key: 'roofTemperature', value: 21.5 + Math.sin(nowMs / 5_000), unit: '°C', atMs: nowMs - 100 },
          { key: 'doorOpen', value: true, atMs: nowMs - 100 },
          { key: 'serial', value: 9_007_199_254_740_993n, atMs: nowMs - 100 },
        ],
      },
    ],
    actuators: [{ name: 'relay', kind: 'gpio-output', value: false }],
    firmware: {
      title: 'turnstone',
      version: '1.2.3',
      state: 'UPDATED',
      history: [
        {
          title: 'turnstone',
          version: '1.2.3',
          from: '1.2.2',
          outcome: 'UPDATED',
          startedAtMs: wallMs - 90_000_000,
          endedAtMs: wallMs - 86_400_000,
        },
      ],
    },
    timelineSeq: 0,
    provisioning: { phase: 'in-use', source: 'provisioned' },
  };
}
