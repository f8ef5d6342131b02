/** A guest with the installed service, the platform that it speaks to, and what else it may be sent to by a configuration. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { promisify } from 'node:util';
import { BME280, setRegisters } from './chips.ts';
import { ALLOWED, ConfigurationBench, OTHER_CA } from './configuration-bench.ts';
import { DiskFolder } from './disk-image.ts';
import { Guest, HOST_FROM_GUEST } from './guest.ts';
import { configuration, configure, install, TOKEN } from './installed-agent.ts';
import { PlatformView } from './platform-view.ts';
import { makeRelease } from './release.ts';

const execute = promisify(execFile);

export class ServiceGuest {
  readonly view: PlatformView;
  readonly device: string;
  readonly bench: ConfigurationBench;
  readonly #disks: DiskFolder;
  readonly #disk: string;
  #strange: Server | undefined;
  #strangePort = 0;
  #guest: Guest | undefined;

  private constructor(disks: DiskFolder, disk: string, view: PlatformView, name: string) {
    this.#disks = disks;
    this.#disk = disk;
    this.view = view;
    this.device = view.device(name, TOKEN);
    this.bench = new ConfigurationBench({ guest: () => this.guest, view, device: this.device });
  }

  /** Installs the service, allows changes from afar, and starts it. */
  static async install(name: string): Promise<ServiceGuest> {
    const disks = await DiskFolder.make();
    const service = new ServiceGuest(disks, await disks.ext4('root', 3072), await PlatformView.open(), name);
    try {
      await service.#install();
      return service;
    } catch (error) {
      await service.close();
      throw error;
    }
  }

  get guest(): Guest {
    if (this.#guest === undefined) throw new Error('no guest runs');
    return this.#guest;
  }

  /** The platform over HTTPS, with a certificate that no authority of the guest knows. */
  get strangeUrl(): string {
    return `https://${HOST_FROM_GUEST}:${this.#strangePort}`;
  }

  readonly cutPower = async (): Promise<void> => {
    await this.guest.kill();
    await this.#boot();
  };

  async close(): Promise<void> {
    await this.#guest?.kill();
    this.#strange?.close();
    await this.view.close();
    await this.#disks.remove();
  }

  async #install(): Promise<void> {
    const [release] = await Promise.all([makeRelease('0.1.0-lab.1'), this.#boot()]);
    this.#strange = await this.#openStrange();
    await install(this.guest, release);
    const bus = (await this.guest.run('cat /run/i2c-bus')).trim();
    await configure(this.guest, configuration(this.view.urlFromGuest, bus, ALLOWED));
    const other = await this.#certificate('other');
    await this.guest.run(`cat >${OTHER_CA} <<'END'\n${await readFile(other.certificate, 'utf8')}END`);
    await this.guest.run('systemctl start turnstone', { deadlineMs: 180_000 });
  }

  async #boot(): Promise<void> {
    this.#guest = await Guest.boot({ init: 'systemd', disks: [this.#disk], upperOnDisk: true });
    await setRegisters(this.#guest, BME280.address, BME280.registers);
  }

  async #openStrange(): Promise<Server> {
    const { key, certificate } = await this.#certificate('strange');
    const port = Number(new URL(this.view.platform.url).port);
    const server = createServer({ key: await readFile(key), cert: await readFile(certificate) }, (socket) => {
      const onward = connect(port, '127.0.0.1');
      for (const end of [socket, onward]) end.on('error', () => undefined);
      socket.pipe(onward).pipe(socket);
    });
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#strangePort = (server.address() as AddressInfo).port;
    return server;
  }

  async #certificate(name: string): Promise<{ readonly key: string; readonly certificate: string }> {
    const [key, certificate] = [join(this.#disks.path, `${name}.key`), join(this.#disks.path, `${name}.pem`)];
    const words = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30'];
    const about = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=IP:${HOST_FROM_GUEST}`];
    await execute('openssl', ['req', ...words, ...about, '-keyout', key, '-out', certificate]);
    return { key, certificate };
  }
}
