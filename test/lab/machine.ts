/** QEMU's command line: a small x86-64 PC whose root is this machine's file system, read-only. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const CHECKOUT = resolve(import.meta.dirname, '../..');
/** Serial ports of the machine that tests may use; the first is the console. */
export const SERIAL_PORTS = ['ttyS1', 'ttyS2', 'ttyUSB0'] as const;
export type SerialPortName = (typeof SERIAL_PORTS)[number];

export interface MachineOptions {
  /** First process: only the command server, the host's systemd, or a prompt on the console. Default `plain`. */
  readonly init?: 'plain' | 'systemd' | 'shell';
  /** Raw images, /dev/vda and on. */
  readonly disks?: readonly string[];
  /** Keep what the guest changes in its root on the first disk; default is memory. */
  readonly upperOnDisk?: boolean;
  readonly memoryMb?: number;
  /** The real-time clock at power-on, as `2026-01-01T00:00:00`; default is now. */
  readonly clock?: string;
  /** TCP ports of this machine's loopback that lead into the guest: outside → inside. */
  readonly forward?: ReadonlyMap<number, number>;
}

/** Where scripts/lab.sh left the kernel. */
export function kernelFolder(): string {
  const folder = process.env.LAB_KERNEL;
  if (folder === undefined) throw new Error('LAB_KERNEL is not set: start the lab with ./scripts/lab.sh');
  return folder;
}

/** @param folder for the sockets of the machine's ports. */
export function machineArguments(options: MachineOptions, folder: string, accelerator: Accelerator): readonly string[] {
  const init = options.init ?? 'plain';
  const kernel = kernelFolder();
  const socket = (name: string): string => `socket,id=${name},path=${join(folder, name)},server=on,wait=off`;
  const root =
    'root=hostroot rootfstype=9p rootflags=trans=virtio,version=9p2000.L,msize=262144,cache=loose ro panic=-1';
  const words = [
    `console=ttyS0 ${init === 'shell' ? 'quiet' : ''} ${root} net.ifnames=0 init=${join(CHECKOUT, 'test/lab/guest/init')}`,
    `lab.checkout=${CHECKOUT} lab.kernel=${kernel} lab.init=${init} lab.upper=${options.upperOnDisk ? 'disk' : 'memory'}`,
    init === 'systemd' ? 'systemd.show_status=no systemd.unified_cgroup_hierarchy=1' : '',
  ];
  const forwards = [...(options.forward ?? [])]
    .map(([outside, inside]) => `,hostfwd=tcp:127.0.0.1:${outside}-:${inside}`)
    .join('');
  return [
    // One processor: QEMU 7.2 emulating two lets V8's code be changed on one while the other runs it, and Node crashes now and then.
    ...(accelerator === 'kvm'
      ? ['-accel', 'kvm', '-cpu', 'host', '-smp', '2']
      : ['-accel', 'tcg', '-cpu', 'max', '-smp', '1']),
    ...['-m', String(options.memoryMb ?? 1024), '-nodefaults', '-display', 'none', '-no-reboot'],
    ...['-kernel', join(kernel, 'bzImage'), '-append', words.join(' ')],
    ...['-virtfs', 'local,path=/,mount_tag=hostroot,security_model=none,readonly=on,multidevs=remap'],
    ...[
      '-rtc',
      `base=${options.clock ?? 'utc'}`,
      '-object',
      'rng-random,id=rng,filename=/dev/urandom',
      '-device',
      'virtio-rng-pci,rng=rng',
    ],
    ...['-netdev', `user,id=net${forwards}`, '-device', 'virtio-net-pci,netdev=net,romfile='],
    ...['-serial', 'stdio', '-device', 'virtio-serial-pci'],
    ...['-chardev', socket('commands'), '-device', 'virtserialport,chardev=commands,name=commands'],
    ...[
      '-chardev',
      socket('ttyS1'),
      '-serial',
      'chardev:ttyS1',
      '-chardev',
      socket('ttyS2'),
      '-serial',
      'chardev:ttyS2',
    ],
    // Plugged in while somebody is connected to its socket.
    ...['-device', 'qemu-xhci', '-chardev', socket('ttyUSB0'), '-device', 'usb-serial,chardev=ttyUSB0'],
    ...(options.disks ?? []).flatMap((path, index) => [
      '-drive',
      `file=${path},format=raw,if=none,id=disk${index},cache=writeback`,
      '-device',
      `virtio-blk-pci,drive=disk${index}`,
    ]),
  ];
}

export type Accelerator = 'kvm' | 'tcg';

/**
 * KVM is taken only where it was seen to start a kernel: in nested machines /dev/kvm may exist and not work. The answer is kept
 * beside the kernel until the next boot of this machine. LAB_ACCELERATOR decides without a trial.
 */
export function accelerator(): Accelerator {
  const wanted = process.env.LAB_ACCELERATOR;
  if (wanted === 'kvm' || wanted === 'tcg') return wanted;
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const record = join(kernelFolder(), '..', `accelerator-${bootId}`);
  try {
    return readFileSync(record, 'utf8') === 'kvm' ? 'kvm' : 'tcg';
  } catch {
    const trial = spawnSync(
      'qemu-system-x86_64',
      [
        ...[
          '-accel',
          'kvm',
          '-cpu',
          'host',
          '-m',
          '128',
          '-nodefaults',
          '-display',
          'none',
          '-serial',
          'stdio',
          '-no-reboot',
        ],
        ...['-kernel', join(kernelFolder(), 'bzImage'), '-append', 'console=ttyS0 panic=-1'],
      ],
      { timeout: 10_000, encoding: 'utf8' },
    );
    // Without a root the kernel panics; that it came so far is the proof.
    const answer = trial.stdout.includes('Kernel panic') ? 'kvm' : 'tcg';
    mkdirSync(join(kernelFolder(), '..'), { recursive: true });
    writeFileSync(record, answer);
    return answer;
  }
}
