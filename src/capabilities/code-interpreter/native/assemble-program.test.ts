import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assembleProgram } from './assemble-program.ts';
import type { NativeCall } from './assemble-program.ts';

/** One of each kind of argument, and a failure with a tolerated error. */
const CALLS: readonly NativeCall[] = [
  {
    name: 'keyctl',
    args: [-3, { data: Buffer.from('key\0') }, { variable: 2 }, { variableAddress: 3 }, 'programArgument'],
    result: 1,
    failure: { message: 'no', tolerated: [38] },
  },
  { name: 'execve', args: ['programArgument', 'programArguments', 0] },
];

const HEADER_BYTES = 232;
/** Two strings of data, each padded to 8 bytes. */
const DATA_BYTES = 16;

/** Instructions as `objdump` shows them, checked against it. */
const ARM64 = `
910003f3 mov x19, sp
d29fffa0 mov x0, #0xfffd
f2bfffe0 movk
f2dfffe0 movk
f2ffffe0 movk
d2801d01 mov x1, #0xe8
f2a00801 movk x1, #0x40, lsl #16
f2c00001 movk
f2e00001 movk
d2800202 mov x2, #0x10
f2a01002 movk x2, #0x80, lsl #16
f2c00002 movk
f2e00002 movk
f9400042 ldr x2, [x2]
d2800303 mov x3, #0x18
f2a01003 movk x3, #0x80, lsl #16
f2c00003 movk
f2e00003 movk
f9400a64 ldr x4, [x19, #16]
d2801b68 mov x8, #219
f2a00008 movk
f2c00008 movk
f2e00008 movk
d4000001 svc #0
b6f803a0 tbz x0, #63, +29
b100981f cmn x0, #38
54000360 b.eq +27
`
  .trim()
  .split('\n');

describe('assembleProgram', () => {
  test('assembles arm64 instructions', () => {
    const program = assembleProgram(CALLS, 'arm64');
    const words = ARM64.map((_, index) =>
      program
        .readUInt32LE(HEADER_BYTES + DATA_BYTES + index * 4)
        .toString(16)
        .padStart(8, '0'),
    );
    assert.deepEqual(
      words,
      ARM64.map((line) => line.slice(0, 8)),
    );
  });

  test('assembles x64 instructions', () => {
    const program = assembleProgram(CALLS, 'x64');
    const code = program.subarray(HEADER_BYTES + DATA_BYTES).toString('hex');
    const instructions = [
      '4989e4', // mov r12, rsp
      '48bffdffffffffffffff', // mov rdi, -3
      '48bee800400000000000', // mov rsi, 0x4000e8
      '48ba1000800000000000', // mov rdx, 0x800010
      '488b12', // mov rdx, [rdx]
      '49ba1800800000000000', // mov r10, 0x800018
      '4d8b442410', // mov r8, [r12 + 16]
      'b8fa000000', // mov eax, 250
      '0f05', // syscall
      '4885c0', // test rax, rax
      '0f8940000000', // jns +64
      '4883f8da', // cmp rax, -38
      '0f8436000000', // je +54
    ];
    assert.equal(code.slice(0, instructions.join('').length), instructions.join(''));
  });

  test('creates an ELF file whose code cannot be written and whose variables cannot be executed', () => {
    for (const [processor, machine] of [
      ['x64', 62],
      ['arm64', 183],
    ] as const) {
      const program = assembleProgram(CALLS, processor);
      assert.equal(program.toString('latin1', 0, 4), '\x7fELF');
      assert.equal(program.readUInt16LE(18), machine);
      assert.equal(program.readBigUInt64LE(24), BigInt(0x40_0000 + HEADER_BYTES + DATA_BYTES), 'entry');
      const flags = [0, 1, 2].map((index) => program.readUInt32LE(64 + index * 56 + 4));
      assert.deepEqual(flags, [0b101, 0b110, 0b110], 'code, variables, stack');
      assert.equal(program.readBigUInt64LE(64 + 32), BigInt(program.length));
    }
  });

  test('refuses a call that the processor lacks', () => {
    assert.throws(() => assembleProgram([{ name: 'open', args: [] }], 'arm64'), /arm64 has no system call open/);
  });
});
