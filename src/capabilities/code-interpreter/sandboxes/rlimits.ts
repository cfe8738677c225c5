import { PROCESS_OVERHEAD_MB } from './sandbox.ts';
import type { SandboxLimits } from './sandbox.ts';

/**
 * Returns the arguments of `prlimit`. Memory is limited as writable data (`--data`), because the runtime reserves many
 * times the address space that it uses. Files cannot be written, and a crash leaves no core dump.
 */
export const buildPrlimitArguments = ({ memoryMb, cpuSeconds }: SandboxLimits): readonly string[] => [
  `--data=${(memoryMb + PROCESS_OVERHEAD_MB) * 2 ** 20}`,
  `--cpu=${cpuSeconds}`,
  '--fsize=0',
  '--core=0',
  '--nofile=64',
];
