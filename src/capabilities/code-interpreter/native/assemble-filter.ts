import { getSystemCallNumber, RUNTIME_SYSTEM_CALLS } from './system-calls.ts';
import type { Processor, SystemCall } from './system-calls.ts';

const EPERM = 1;
const EINVAL = 22;
const ENOTTY = 25;
const ENOSYS = 38;

/** A condition on an argument, of which the lower 32 bits count. */
interface ArgumentRule {
  /** Index of the argument. */
  readonly argument: number;
  readonly mask: number;
  /** Allowed values of the masked argument. */
  readonly values: readonly number[];
  /** Error of other values. */
  readonly errno: number;
}

const ALL_BITS = 0xffff_ffff;

/** System calls that are allowed with some arguments only. */
const ARGUMENT_RULES: Partial<Record<SystemCall, ArgumentRule>> = {
  // Threads only, without new namespaces: CLONE_THREAD of CLONE_THREAD | CLONE_NEW*.
  clone: { argument: 0, mask: 0x7e03_0000, values: [0x1_0000], errno: EPERM },
  // Private memory only (MAP_PRIVATE of MAP_TYPE): the limit of a process does not count shared memory.
  mmap: { argument: 3, mask: 0xf, values: [2], errno: EPERM },
  // TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX.
  ioctl: {
    argument: 1,
    mask: ALL_BITS,
    values: [0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451],
    errno: ENOTTY,
  },
  // PR_SET_NAME, PR_GET_NAME, PR_SET_VMA.
  prctl: { argument: 0, mask: ALL_BITS, values: [15, 16, 0x5356_4d41], errno: EINVAL },
  // Limits of this process only.
  prlimit64: { argument: 0, mask: ALL_BITS, values: [0], errno: EPERM },
};

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h. */
const AUDIT_ARCHITECTURES: Readonly<Record<Processor, number>> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };

/** The lowest number of the x32 interface, which runs on x64 as well. */
const X32_BIT = 0x4000_0000;

// Instructions of classic BPF (linux/filter.h), and offsets in struct seccomp_data (linux/seccomp.h).
const LOAD = 0x20;
const AND = 0x54;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_GREATER_OR_EQUAL = 0x35;
const RETURN = 0x06;
const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;

const ALLOW = 0x7fff_0000;
/** Makes the system call fail with an error number. */
const fail = (errno: number): number => 0x0005_0000 | errno;

type Instruction = readonly [code: number, jumpIfTrue: number, jumpIfFalse: number, operand: number];

/** Size of an instruction in bytes. */
export const INSTRUCTION_BYTES = 8;

/**
 * Assembles a seccomp filter for the processes that run programs. System calls that are not listed fail with ENOSYS, as
 * on an older kernel: C libraries then use an older call, or report an error.
 * @returns an array of `struct sock_filter`.
 */
export function assembleFilter(processor: Processor): Buffer {
  const program: Instruction[] = [
    [LOAD, 0, 0, ARCHITECTURE_OFFSET],
    [JUMP_IF_EQUAL, 1, 0, AUDIT_ARCHITECTURES[processor]],
    [RETURN, 0, 0, fail(ENOSYS)],
    [LOAD, 0, 0, NUMBER_OFFSET],
    ...(processor === 'x64'
      ? [[JUMP_IF_GREATER_OR_EQUAL, 0, 1, X32_BIT] as const, [RETURN, 0, 0, fail(ENOSYS)] as const]
      : []),
    ...RUNTIME_SYSTEM_CALLS.flatMap((name) => {
      const number = getSystemCallNumber(name, processor);
      const rule = ARGUMENT_RULES[name];
      const verdict: readonly Instruction[] = rule ? checkArgument(rule) : [[RETURN, 0, 0, ALLOW]];
      return number === undefined ? [] : [[JUMP_IF_EQUAL, 0, verdict.length, number] as const, ...verdict];
    }),
    [RETURN, 0, 0, fail(ENOSYS)],
  ];
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES);
  for (const [index, [code, jumpIfTrue, jumpIfFalse, operand]] of program.entries()) {
    const at = index * INSTRUCTION_BYTES;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(jumpIfTrue, at + 2);
    bytes.writeUInt8(jumpIfFalse, at + 3);
    bytes.writeUInt32LE(operand, at + 4);
  }
  return bytes;
}

/** Returns instructions that end the filter with a verdict on the call. */
function checkArgument({ argument, mask, values, errno }: ArgumentRule): readonly Instruction[] {
  return [
    [LOAD, 0, 0, ARGUMENTS_OFFSET + argument * 8],
    [AND, 0, 0, mask],
    ...values.map((value, index): Instruction => [JUMP_IF_EQUAL, values.length - index, 0, value]),
    [RETURN, 0, 0, fail(errno)],
    [RETURN, 0, 0, ALLOW],
  ];
}
