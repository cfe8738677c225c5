import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assembleFilter } from './assemble-filter.ts';
import { getProcessor, getSystemCallNumber, RUNTIME_SYSTEM_CALLS } from './system-calls.ts';
import type { Processor, SystemCall } from './system-calls.ts';

const ALLOW = 0x7fff_0000;
const ARCHITECTURES = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;
const ERRNO = { EPERM: 0x5_0001, EINVAL: 0x5_0016, ENOTTY: 0x5_0019, ENOSYS: 0x5_0026 } as const;

/** Runs a filter as the kernel does, on a call with 64-bit arguments. Throws for an instruction that it must not have. */
function runFilter(filter: Buffer, architecture: number, number: number, args: readonly bigint[] = []): number {
  const call = Buffer.alloc(64);
  call.writeUInt32LE(number, 0);
  call.writeUInt32LE(architecture, 4);
  for (const [index, argument] of args.entries()) call.writeBigUInt64LE(BigInt.asUintN(64, argument), 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const operand = filter.readUInt32LE(at + 4);
    const jump = (isTrue: boolean): number => (at += 8 * filter.readUInt8(at + (isTrue ? 2 : 3)));
    const code = filter.readUInt16LE(at);
    if (code === 0x06) return operand;
    if (code === 0x20) accumulator = call.readUInt32LE(operand);
    else if (code === 0x54) accumulator = (accumulator & operand) >>> 0;
    else if (code === 0x15) jump(accumulator === operand);
    else if (code === 0x35) jump(accumulator >= operand);
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error('the filter has no end');
}

for (const processor of ['x64', 'arm64'] as const satisfies readonly Processor[]) {
  describe(`filter of system calls on ${processor}`, () => {
    const filter = assembleFilter(processor);
    const call = (name: SystemCall, ...args: readonly (bigint | number)[]): number =>
      runFilter(filter, ARCHITECTURES[processor], getSystemCallNumber(name, processor) ?? -1, args.map(BigInt));

    test('allows the calls of the runtime, and fails all others as unknown', () => {
      const hasRule = new Set(['clone', 'mmap', 'ioctl', 'prctl', 'prlimit64']);
      const allowed = new Set(
        RUNTIME_SYSTEM_CALLS.filter((name) => !hasRule.has(name)).map((name) => getSystemCallNumber(name, processor)),
      );
      const checked = new Set([...hasRule].map((name) => getSystemCallNumber(name as SystemCall, processor)));
      for (let number = 0; number < 1_024; number++) {
        if (checked.has(number)) continue;
        const verdict = runFilter(filter, ARCHITECTURES[processor], number);
        assert.equal(verdict, allowed.has(number) ? ALLOW : ERRNO.ENOSYS, `system call ${number}`);
      }
    });

    test('fails keyrings, io_uring, userfaultfd, sockets and files in memory', () => {
      for (const name of ['keyctl', 'add_key', 'io_uring_setup', 'userfaultfd', 'socket', 'memfd_create'] as const)
        assert.equal(call(name), ERRNO.ENOSYS, name);
    });

    test('allows private memory, and no shared memory', () => {
      const MAP_ANONYMOUS = 0x20;
      assert.equal(call('mmap', 0, 4096, 3, 2 | MAP_ANONYMOUS), ALLOW);
      assert.equal(call('mmap', 0, 4096, 3, 2 | MAP_ANONYMOUS | 0x10 | 0x4000), ALLOW);
      // MAP_SHARED, MAP_SHARED_VALIDATE, and bits above those that the kernel reads.
      for (const flags of [1, 3, 1n | (2n << 32n)])
        assert.equal(call('mmap', 0, 4096, 3, BigInt(flags) | 0x20n), ERRNO.EPERM, `${flags}`);
    });

    test('allows new threads, and neither processes nor namespaces', () => {
      const threadFlags = 0x3d_0f00;
      assert.equal(call('clone', threadFlags), ALLOW);
      assert.equal(call('clone', 17), ERRNO.EPERM);
      assert.equal(call('clone', 0x4111), ERRNO.EPERM);
      // CLONE_NEWNS, CLONE_NEWUSER.
      for (const flag of [0x2_0000, 0x1000_0000]) assert.equal(call('clone', threadFlags | flag), ERRNO.EPERM);
    });

    test('checks the arguments of ioctl, prctl and prlimit64', () => {
      assert.equal(call('ioctl', 0, 0x5401), ALLOW);
      assert.equal(call('ioctl', 0, 0x5451), ALLOW);
      assert.equal(call('ioctl', 0, 0x5412), ERRNO.ENOTTY, 'TIOCSTI');
      assert.equal(call('prctl', 15), ALLOW);
      assert.equal(call('prctl', 22), ERRNO.EINVAL, 'PR_SET_SECCOMP');
      assert.equal(call('prlimit64', 0), ALLOW);
      assert.equal(call('prlimit64', 1), ERRNO.EPERM);
    });

    test('fails calls of other interfaces of the processor', () => {
      const [I386, ARM] = [0x4000_0003, 0x4000_0028];
      for (const architecture of [I386, ARM]) assert.equal(runFilter(filter, architecture, 0), ERRNO.ENOSYS);
      if (processor === 'x64') assert.equal(runFilter(filter, ARCHITECTURES.x64, 0x4000_0000), ERRNO.ENOSYS, 'x32');
    });
  });
}

test('knows the processors that it has numbers for', () => {
  assert.deepEqual(['x64', 'arm64', 'riscv64'].map(getProcessor), ['x64', 'arm64', undefined]);
});
