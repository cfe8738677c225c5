import { assembleFilter, INSTRUCTION_BYTES } from './assemble-filter.ts';
import { assembleProgram } from './assemble-program.ts';
import type { NativeCall } from './assemble-program.ts';
import type { Processor } from './system-calls.ts';

// Constants of linux/keyctl.h, linux/prctl.h and linux/seccomp.h.
const KEYCTL_JOIN_SESSION_KEYRING = 1;
const PR_SET_NO_NEW_PRIVS = 38;
const SECCOMP_SET_MODE_FILTER = 1;

const EPERM = 1;
const ENOSYS = 38;

/**
 * Assembles the program that starts a process in the sandbox: it joins a new session keyring, forbids new privileges,
 * installs the filter of system calls, and executes its arguments without any environment. If a step fails, it executes
 * nothing and reports the step.
 */
export const assembleLauncher = (processor: Processor, { hasFilter }: { readonly hasFilter: boolean }): Buffer =>
  assembleProgram(
    [
      {
        name: 'keyctl',
        args: [KEYCTL_JOIN_SESSION_KEYRING, 0],
        // A kernel without keyrings, or a container that forbids their calls. The attacks show what remains.
        failure: { message: 'a new session keyring cannot be created', tolerated: [EPERM, ENOSYS] },
      },
      {
        name: 'prctl',
        args: [PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0],
        failure: { message: 'new privileges cannot be forbidden', tolerated: [] },
      },
      ...(hasFilter ? [installFilter(assembleFilter(processor))] : []),
      {
        name: 'execve',
        args: ['programArgument', 'programArguments', 0],
        failure: { message: 'the program cannot be executed', tolerated: [] },
      },
    ],
    processor,
  );

function installFilter(filter: Buffer): NativeCall {
  // struct sock_fprog: the count of instructions, and their address.
  const description = Buffer.alloc(16);
  description.writeUInt16LE(filter.length / INSTRUCTION_BYTES);
  return {
    name: 'seccomp',
    args: [SECCOMP_SET_MODE_FILTER, 0, { data: description, pointer: { at: 8, to: filter } }],
    failure: {
      message: 'the filter of system calls cannot be installed: the kernel needs CONFIG_SECCOMP_FILTER',
      tolerated: [],
    },
  };
}
