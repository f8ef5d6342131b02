/** The agent as a service of a guest that runs systemd, installed from a release. */
import type { Guest } from './guest.ts';
import type { LabRelease } from './release.ts';

export const TOKEN = 'lab-secret-token';
export const RELAY = 3;
export const DOOR = 0;
const NO_MORE = { sensors: '', actuators: '' };

/** @param dropIns names for the installer's option --with. */
export async function install(guest: Guest, release: LabRelease, dropIns: readonly string[] = []): Promise<string> {
  const words = dropIns.length === 0 ? '' : ` --with ${dropIns.join(',')}`;
  return await guest.run(`${release.inGuest}/install.sh${words}`, { deadlineMs: 420_000 });
}

/** The service's configuration, the token as a credential. */
export async function configure(guest: Guest, yaml: string): Promise<void> {
  await guest.run(
    `printf %s '${TOKEN}' >/etc/turnstone/credentials/token
     cat >/etc/turnstone/turnstone.yaml <<'END'\n${yaml}\nEND
     chown root:turnstone /etc/turnstone/turnstone.yaml; chmod 640 /etc/turnstone/turnstone.yaml; sync`,
  );
}

/** Returns the service's account of itself, for a test that failed. */
export async function accountOf(guest: Guest): Promise<string> {
  const { stdout, stderr } = await guest.attempt(
    `systemctl status turnstone turnstone-helper.path --no-pager -n 0; ls -l /opt/turnstone; turnstone status
     journalctl -b -u turnstone -u turnstone-helper -o short-monotonic --no-pager -n 60`,
  );
  return stdout + stderr;
}

export interface Sections {
  readonly sensors: string;
  readonly actuators: string;
}

/** @param more sections of lists that this configuration has, by two spaces. */
export function configuration(url: string, bus: string, extra = '', more: Sections = NO_MORE): string {
  return `version: 1
platform: { url: "${url}", accessTokenCredential: turnstone_token }
time: { trust: always }
log: { level: debug }
outbox: { commitAge: 500ms, minFree: 1MB }
status: { page: "off" }
firmware: { chunk: 1MB, confirm: { healthyFor: 5s } }
sensors:
  - { name: door, kind: gpio-input, line: { chip: lab-board, offset: ${DOOR} }, period: 1m, keys: { state: { rename: doorOpen } } }
  - name: room
    kind: bme280
    bus: ${bus}
    address: 0x76
    period: 2s
    keys: { temperature: { rename: roomTemperature }, pressure: { rename: roomPressure }, humidity: { report: false } }
  - { name: weather, kind: serial-line, port: /dev/ttyS1, format: json, period: 10s }
  - { name: machine, kind: host, period: 5s }${more.sensors}
actuators:
  - { name: pump, kind: gpio-output, line: { chip: lab-board, offset: ${RELAY} }, safe: { stop: off, crash: off } }${more.actuators}
${extra}`;
}
