import { PROCESS_MB } from './sandbox.ts';
import type { SandboxLimits } from './sandbox.ts';

/**
 * Arguments of `prlimit`. What counts as memory is what can be written (`data`): the runtime reserves many times that and never
 * touches it. Files cannot be made at all, and a process that breaks leaves no image of itself.
 */
export const rlimits = ({ memoryMb, cpuSeconds }: SandboxLimits): readonly string[] => [
  `--data=${(memoryMb + PROCESS_MB) * 2 ** 20}`,
  `--cpu=${cpuSeconds}`,
  '--fsize=0',
  '--core=0',
  '--nofile=64',
];
