import { assembleProgram } from './assemble-program.ts';
import type { NativeCall } from './assemble-program.ts';
import type { Processor } from './system-calls.ts';

// Constants of linux/keyctl.h, asm-generic/mman.h, linux/userfaultfd.h, fcntl.h and linux/socket.h.
const KEYCTL_GET_KEYRING_ID = 0;
const KEYCTL_READ = 11;
const KEY_SPEC_SESSION_KEYRING = -3;
const PROT_READ_WRITE = 3;
const MAP_SHARED_ANONYMOUS = 0x21;
const MAP_POPULATE = 0x8000;
const O_CLOEXEC = 0x8_0000;
const UFFD_USER_MODE_ONLY = 1;
const AF_VSOCK = 40;
const SOCK_STREAM = 1;

/** Highest error number that a system call returns, negated. */
const ERRNO_MAX = 4095n;

const RESULT_BYTES = 8;
const INPUT_BYTES = 24;

/** Variables of the attacking program. */
const RESULT = 0;
const KEYRING = 1;
const SHARED_BYTES = 2;
const SHARED_FLAGS = 3;
const BUFFER = 4;
const BUFFER_BYTES = 1024;
/** Variables that nothing writes, and that are 0. */
const ZEROS = BUFFER + BUFFER_BYTES / RESULT_BYTES;

/** Input of the attacking program. */
export interface NativeAttackInput {
  /** Serial number of the service's session keyring; 0 if it has none. */
  readonly keyring: bigint;
  /** Shared memory to take, in bytes. 0: none. */
  readonly sharedBytes: number;
  /** Whether the memory is used, and not only reserved. */
  readonly usesMemory: boolean;
}

export interface NativeBreach {
  /** Achievement of the attacking program, as a clause: `opened an io_uring`. */
  readonly name: string;
  /** The layer that stops the attack even if the filter of system calls is missing. */
  readonly layer: 'filter' | 'keyring' | 'memory cgroup';
}

interface NativeAttack extends NativeBreach {
  readonly call: NativeCall;
  /** Whether a result other than an error is a breach. Default: always. */
  readonly isBreach?: (result: bigint, input: NativeAttackInput) => boolean;
}

/** Each attack is one system call; the first one reads the keyring. It has failed if the call returns an error, and if it ends the process. */
const ATTACKS: readonly NativeAttack[] = [
  {
    name: "has the service's session keyring",
    layer: 'keyring',
    call: { name: 'keyctl', args: [KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0] },
    isBreach: (result, { keyring }) => result === keyring,
  },
  {
    name: "read the service's session keyring",
    // A process of the same user may read it by its serial number.
    layer: 'filter',
    call: { name: 'keyctl', args: [KEYCTL_READ, { variable: KEYRING }, { variableAddress: BUFFER }, BUFFER_BYTES] },
  },
  {
    name: 'opened an io_uring',
    call: { name: 'io_uring_setup', args: [1, { variableAddress: ZEROS }] },
    layer: 'filter',
  },
  {
    name: 'opened a userfaultfd',
    call: { name: 'userfaultfd', args: [O_CLOEXEC | UFFD_USER_MODE_ONLY] },
    layer: 'filter',
  },
  {
    name: 'opened a socket to the hypervisor (AF_VSOCK)',
    call: { name: 'socket', args: [AF_VSOCK, SOCK_STREAM, 0] },
    layer: 'filter',
  },
  {
    name: 'created a file in memory (memfd_create)',
    call: { name: 'memfd_create', args: [{ data: Buffer.from('attack\0') }, 0] },
    layer: 'filter',
  },
  {
    name: 'took shared memory beyond its limit',
    layer: 'memory cgroup',
    call: {
      name: 'mmap',
      args: [0, { variable: SHARED_BYTES }, PROT_READ_WRITE, { variable: SHARED_FLAGS }, -1, 0],
    },
  },
];

/** Maximum size of the attacking program's output, in bytes. */
export const NATIVE_OUTPUT_BYTES_MAX = ATTACKS.length * RESULT_BYTES;

/**
 * Assembles a program that attacks its sandbox by system calls. It reads its input (`encodeNativeInput`), and writes the
 * result of each call before the next one.
 */
export const assembleAttacks = (processor: Processor): Buffer =>
  assembleProgram(
    [
      { name: 'read', args: [0, { variableAddress: KEYRING }, INPUT_BYTES] },
      ...ATTACKS.flatMap(({ call }) => [{ ...call, result: RESULT }, WRITE_RESULT]),
    ],
    processor,
  );

/** Assembles a program that writes the serial number of its session keyring, or an error number. */
export const assembleKeyringReader = (processor: Processor): Buffer =>
  assembleProgram(
    [{ name: 'keyctl', args: [KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0], result: RESULT }, WRITE_RESULT],
    processor,
  );

const WRITE_RESULT: NativeCall = { name: 'write', args: [1, { variableAddress: RESULT }, RESULT_BYTES] };

/** Encodes the variables KEYRING, SHARED_BYTES and SHARED_FLAGS. */
export const encodeNativeInput = ({ keyring, sharedBytes, usesMemory }: NativeAttackInput): Buffer =>
  Buffer.from(
    BigInt64Array.of(keyring, BigInt(sharedBytes), BigInt(MAP_SHARED_ANONYMOUS | (usesMemory ? MAP_POPULATE : 0)))
      .buffer,
  );

/** Returns the serial number of a keyring from the output of its reader, or of the attacks; 0 if there is none. */
export const decodeKeyring = (output: Buffer): bigint => {
  const serial = output.length < RESULT_BYTES ? 0n : output.readBigInt64LE();
  return serial > 0n ? serial : 0n;
};

/** Returns the successful attacks from the output of the attacking program. */
export function findNativeBreaches(output: Buffer, input: NativeAttackInput): readonly NativeBreach[] {
  return ATTACKS.filter(({ isBreach }, index) => {
    if (output.length < (index + 1) * RESULT_BYTES) return false;
    const result = output.readBigInt64LE(index * RESULT_BYTES);
    const isError = result < 0n && result >= -ERRNO_MAX;
    return !isError && (isBreach?.(result, input) ?? true);
  });
}
