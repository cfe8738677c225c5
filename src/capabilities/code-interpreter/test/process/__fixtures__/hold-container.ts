// Starts a sandbox whose processes run until they are killed, and prints their first output. Argument: the launch as JSON.
import { spawnInSandbox } from '../../../sandboxed-process.ts';
import type { SandboxLaunch } from '../../../sandboxes/sandbox.ts';

const { child } = spawnInSandbox(JSON.parse(process.argv[2] ?? '') as SandboxLaunch);
child.stdin.write('wait\n');
child.stdout.pipe(process.stdout);
