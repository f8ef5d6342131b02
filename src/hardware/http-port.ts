/** HTTP devices beside the gateway: inverters, chargers, weather stations. One request, one answer, bounded in size. */

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** May hold a key: no message shows it. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly tls: HttpTls;
  /** Length of the longest answer. */
  readonly maxBytes: number;
}

export interface HttpTls {
  /** Authorities to trust instead of the public ones, PEM; a device's own certificate is one. */
  readonly ca?: string;
  /** Name in the device's certificate, where it is reached by another. */
  readonly serverName?: string;
  /** True takes any certificate. */
  readonly insecure: boolean;
}

export interface HttpAnswer {
  readonly status: number;
  /** By lower-case name; of several with one name all, joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface HttpPort {
  /** Follows no redirect. @throws AgentError `hardware/http-no-answer`, `hardware/http-too-long`, `hardware/http-coding`, `hardware/deadline` (all retry). */
  request(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
  /** Closes every connection. Idempotent. */
  close(): Promise<void>;
}
