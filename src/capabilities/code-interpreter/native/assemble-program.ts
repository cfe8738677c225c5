import { getSystemCallNumber } from './system-calls.ts';
import type { Processor, SystemCall } from './system-calls.ts';

/**
 * An argument of a system call. `data`: address of constant bytes, in which `pointer.at` gets the address of
 * `pointer.to`. `variable`, `variableAddress`: content and address of one of the program's variables. `programArgument`:
 * its first argument. `programArguments`: address of the list of its arguments, without its own name.
 */
export type Operand =
  | number
  | { readonly data: Buffer; readonly pointer?: { readonly at: number; readonly to: Buffer } }
  | { readonly variable: number }
  | { readonly variableAddress: number }
  | 'programArgument'
  | 'programArguments';

/** One system call of a native program. */
export interface NativeCall {
  readonly name: SystemCall;
  /** At most six. */
  readonly args: readonly Operand[];
  /** Variable that gets the result. */
  readonly result?: number;
  /** Ends the program with this message if the call fails with any other error than `tolerated` (error numbers). */
  readonly failure?: { readonly message: string; readonly tolerated: readonly number[] };
}

/** Variables of a program: 8 bytes each. Those above the ones that a program names can serve as a buffer. */
const VARIABLES = 512;
const VARIABLE_BYTES = 8;

const STANDARD_ERROR = 2;

// Addresses at which a program is loaded, aligned for kernels with pages of 64 KiB.
const CODE_ADDRESS = 0x40_0000;
const VARIABLES_ADDRESS = 0x80_0000;
const PAGE_BYTES = 0x1_0000;

const ELF_HEADER_BYTES = 64;
const SEGMENT_BYTES = 56;
const HEADER_BYTES = ELF_HEADER_BYTES + 3 * SEGMENT_BYTES;

/** Code of one processor for the steps of a program. */
interface Assembler {
  /** e_machine in the ELF header. */
  readonly machine: number;
  /** Keeps the address of the argument list. */
  readonly start: Buffer;
  call(number: number, args: readonly LoadedOperand[]): Buffer;
  /** Stores the result of the last call. */
  store(address: number): Buffer;
  /** Runs `block` if the last call failed with another error than the tolerated ones. */
  ifFailed(tolerated: readonly number[], block: Buffer): Buffer;
}

/** `constant`: a number. `memory`: 8 bytes at an address. */
type LoadedOperand =
  | { readonly constant: bigint }
  | { readonly memory: number }
  | 'programArgument'
  | 'programArguments';

/**
 * Assembles a statically linked ELF program that makes some system calls, one after the other, and ends. With it, Parley
 * needs neither a compiler nor a program of the system for calls that Node does not offer.
 */
export function assembleProgram(calls: readonly NativeCall[], processor: Processor): Buffer {
  const assembler = ASSEMBLERS[processor];
  const data: Buffer[] = [];
  let dataBytes = 0;
  // Data precedes the code, so that its addresses are known.
  const addData = (bytes: Buffer): number => {
    const address = CODE_ADDRESS + HEADER_BYTES + dataBytes;
    const padded = Buffer.concat([bytes, Buffer.alloc(-bytes.length & 7)]);
    data.push(padded);
    dataBytes += padded.length;
    return address;
  };
  const load = (operand: Operand): LoadedOperand => {
    if (typeof operand === 'string') return operand;
    if (typeof operand === 'number') return { constant: BigInt.asUintN(64, BigInt(operand)) };
    if ('data' in operand) {
      const bytes = Buffer.from(operand.data);
      if (operand.pointer) bytes.writeBigUInt64LE(BigInt(addData(operand.pointer.to)), operand.pointer.at);
      return { constant: BigInt(addData(bytes)) };
    }
    if ('variable' in operand) return { memory: getVariableAddress(operand.variable) };
    return { constant: BigInt(getVariableAddress(operand.variableAddress)) };
  };
  const call = (name: SystemCall, args: readonly Operand[]): Buffer => {
    const number = getSystemCallNumber(name, processor);
    if (number === undefined) throw new Error(`${processor} has no system call ${name}`);
    return assembler.call(number, args.map(load));
  };
  const code = Buffer.concat([
    assembler.start,
    ...calls.flatMap(({ name, args, result, failure }) => {
      const parts = [call(name, args)];
      if (failure) {
        const message = Buffer.from(`${failure.message}\n`);
        const block = Buffer.concat([
          call('write', [STANDARD_ERROR, { data: message }, message.length]),
          call('exit_group', [1]),
        ]);
        parts.push(assembler.ifFailed(failure.tolerated, block));
      }
      if (result !== undefined) parts.push(assembler.store(getVariableAddress(result)));
      return parts;
    }),
    call('exit_group', [0]),
  ]);
  return link(assembler.machine, Buffer.concat(data), code);
}

const getVariableAddress = (variable: number): number => VARIABLES_ADDRESS + variable * VARIABLE_BYTES;

/** Adds the headers of an ELF file: a segment of data and code, which cannot be written, and one of variables. */
function link(machine: number, data: Buffer, code: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  const size = HEADER_BYTES + data.length + code.length;
  // ELFCLASS64, ELFDATA2LSB, EV_CURRENT.
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  header.writeUInt16LE(2, 16); // ET_EXEC
  header.writeUInt16LE(machine, 18);
  header.writeUInt32LE(1, 20); // EV_CURRENT
  header.writeBigUInt64LE(BigInt(CODE_ADDRESS + HEADER_BYTES + data.length), 24); // entry
  header.writeBigUInt64LE(BigInt(ELF_HEADER_BYTES), 32); // offset of the segments
  header.writeUInt16LE(ELF_HEADER_BYTES, 52);
  header.writeUInt16LE(SEGMENT_BYTES, 54);
  header.writeUInt16LE(3, 56); // segments
  header.writeUInt16LE(64, 58); // size of a section header; there are none
  const LOAD = 1;
  const GNU_STACK = 0x6474_e551;
  const segments = [
    { type: LOAD, flags: 0b101, address: CODE_ADDRESS, fileBytes: size, memoryBytes: size },
    { type: LOAD, flags: 0b110, address: VARIABLES_ADDRESS, fileBytes: 0, memoryBytes: VARIABLES * VARIABLE_BYTES },
    { type: GNU_STACK, flags: 0b110, address: 0, fileBytes: 0, memoryBytes: 0 },
  ];
  for (const [index, { type, flags, address, fileBytes, memoryBytes }] of segments.entries()) {
    const at = ELF_HEADER_BYTES + index * SEGMENT_BYTES;
    header.writeUInt32LE(type, at);
    header.writeUInt32LE(flags, at + 4);
    header.writeBigUInt64LE(BigInt(address), at + 16);
    header.writeBigUInt64LE(BigInt(address), at + 24);
    header.writeBigUInt64LE(BigInt(fileBytes), at + 32);
    header.writeBigUInt64LE(BigInt(memoryBytes), at + 40);
    header.writeBigUInt64LE(BigInt(PAGE_BYTES), at + 48);
  }
  return Buffer.concat([header, data, code]);
}

const toUInt64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
};

const toInt32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
};

/** Registers of the arguments of a system call: rdi, rsi, rdx, r10, r8, r9. */
const X64_ARGUMENTS = [7, 6, 2, 10, 8, 9] as const;

const X64: Assembler = {
  machine: 62,
  start: Buffer.from('4989e4', 'hex'), // mov r12, rsp
  call: (number, args) =>
    Buffer.concat([
      ...args.map((operand, index) => loadX64(X64_ARGUMENTS[index] ?? 0, operand)),
      Buffer.from([0xb8]), // mov eax, number
      toInt32(number),
      Buffer.from([0x0f, 0x05]), // syscall
    ]),
  store: (address) =>
    Buffer.concat([
      Buffer.from([0x49, 0xbb]), // mov r11, address
      toUInt64(BigInt(address)),
      Buffer.from([0x49, 0x89, 0x03]), // mov [r11], rax
    ]),
  ifFailed(tolerated, block) {
    let code = block;
    for (const errno of tolerated) {
      // cmp rax, -errno; je behind the block
      code = Buffer.concat([Buffer.from([0x48, 0x83, 0xf8, -errno & 0xff, 0x0f, 0x84]), toInt32(code.length), code]);
    }
    // test rax, rax; jns behind the block
    return Buffer.concat([Buffer.from([0x48, 0x85, 0xc0, 0x0f, 0x89]), toInt32(code.length), code]);
  },
};

function loadX64(register: number, operand: LoadedOperand): Buffer {
  const isHigh = register >= 8 ? 1 : 0;
  const low = register & 7;
  // mov register, [r12 + 16]; lea register, [r12 + 16]
  if (operand === 'programArgument') return Buffer.from([0x49 | (isHigh << 2), 0x8b, 0x44 | (low << 3), 0x24, 16]);
  if (operand === 'programArguments') return Buffer.from([0x49 | (isHigh << 2), 0x8d, 0x44 | (low << 3), 0x24, 16]);
  // mov register, constant
  const move = Buffer.from([0x48 | isHigh, 0xb8 | low]);
  if ('constant' in operand) return Buffer.concat([move, toUInt64(operand.constant)]);
  // mov register, [register]
  const read = Buffer.from([0x48 | isHigh | (isHigh << 2), 0x8b, (low << 3) | low]);
  return Buffer.concat([move, toUInt64(BigInt(operand.memory)), read]);
}

/** Converts 32-bit instructions of arm64 to bytes. */
const toWords = (...words: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) bytes.writeUInt32LE(word >>> 0, index * 4);
  return bytes;
};

const ARM64: Assembler = {
  machine: 183,
  start: toWords(0x91_00_03_f3), // mov x19, sp
  call: (number, args) =>
    Buffer.concat([
      ...args.map((operand, index) => loadArm64(index, operand)),
      moveArm64(8, BigInt(number)),
      toWords(0xd4_00_00_01), // svc #0
    ]),
  store: (address) => Buffer.concat([moveArm64(9, BigInt(address)), toWords(0xf9_00_01_20)]), // str x0, [x9]
  ifFailed(tolerated, block) {
    let code = block;
    for (const errno of tolerated) {
      // cmn x0, #errno; b.eq behind the block
      code = Buffer.concat([
        toWords(0xb1_00_00_1f | (errno << 10), 0x54_00_00_00 | ((code.length / 4 + 1) << 5)),
        code,
      ]);
    }
    // tbz x0, #63, behind the block
    return Buffer.concat([toWords(0xb6_f8_00_00 | ((code.length / 4 + 1) << 5)), code]);
  },
};

/** movz, and movk for the higher parts. */
const moveArm64 = (register: number, value: bigint): Buffer =>
  toWords(
    ...[0, 1, 2, 3].map((part) => {
      const bits = Number((value >> BigInt(16 * part)) & 0xffffn);
      return (part === 0 ? 0xd2_80_00_00 : 0xf2_80_00_00) | (part << 21) | (bits << 5) | register;
    }),
  );

function loadArm64(register: number, operand: LoadedOperand): Buffer {
  // ldr register, [x19, #16]; add register, x19, #16
  if (operand === 'programArgument') return toWords(0xf9_40_00_00 | (2 << 10) | (19 << 5) | register);
  if (operand === 'programArguments') return toWords(0x91_00_00_00 | (16 << 10) | (19 << 5) | register);
  if ('constant' in operand) return moveArm64(register, operand.constant);
  // ldr register, [register]
  return Buffer.concat([
    moveArm64(register, BigInt(operand.memory)),
    toWords(0xf9_40_00_00 | (register << 5) | register),
  ]);
}

const ASSEMBLERS: Readonly<Record<Processor, Assembler>> = { x64: X64, arm64: ARM64 };
