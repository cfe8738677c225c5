import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { chooseSandboxes, LOCAL_SYSTEM } from '../../../choose-sandboxes.ts';
import type { SandboxCandidates } from '../../../choose-sandboxes.ts';
import { findTool } from '../../../sandboxes/tools.ts';

const PAGE = new URL('../../../../../../docs/code-interpreter.md', import.meta.url);
const IMAGE = `localhost/parley-test:node-${process.versions.node}`;
const run = promisify(execFile);

/** A real container engine with an image made from the runtime of the tests. */
export interface TestContainerEngine {
  readonly image: string;
  /** Environment of the engine's command. */
  readonly env: NodeJS.ProcessEnv;
  readonly candidates: SandboxCandidates;
  /** Lists the names of the containers of this process that exist, in any state. */
  listContainers(): Promise<readonly string[]>;
}

/** The engines to test. docker is one of them only where its daemon runs. */
export function listEngineNames(): readonly ('podman' | 'docker')[] {
  try {
    execFileSync('docker', ['version'], { stdio: 'ignore', timeout: 10_000 });
    return ['podman', 'docker'];
  } catch {
    return ['podman'];
  }
}

/** Makes the image if it is missing, by the command of docs/code-interpreter.md. @returns the reason if it cannot. */
export async function openTestContainerEngine(name: 'podman' | 'docker'): Promise<TestContainerEngine | string> {
  const env: NodeJS.ProcessEnv = { ...process.env };
  const command = findTool(name);
  if (command === undefined) return `there is no ${name}`;
  // crun does not run with cgroups of both versions.
  if (name === 'podman' && env['CONTAINERS_CONF'] === undefined && findTool('runc') !== undefined) {
    env['CONTAINERS_CONF'] = join(tmpdir(), `parley-test-containers-${process.getuid?.() ?? 0}.conf`);
    writeFileSync(env['CONTAINERS_CONF'], '[engine]\nruntime = "runc"\n');
  }
  try {
    await run(command, ['image', 'inspect', IMAGE], { env });
  } catch {
    const PATH = `${dirname(process.execPath)}:${env['PATH']}`;
    await run('/bin/sh', ['-c', readImageCommand().replaceAll('podman', name).replaceAll('localhost/parley-code', IMAGE)], {
      env: { ...env, PATH },
    });
  }
  return {
    image: IMAGE,
    env,
    candidates: chooseSandboxes({ level: 'strict', driver: name, image: IMAGE }, { ...LOCAL_SYSTEM, env }),
    async listContainers() {
      const filter = `name=parley-code-${process.pid}-`;
      const { stdout } = await run(command, ['ps', '--all', '--filter', filter, '--format', '{{.Names}}'], { env });
      return stdout.split('\n').filter((line) => line !== '');
    },
  };
}

/** Returns the command of the documentation that makes an image. */
function readImageCommand(): string {
  const block = /```sh\n([^`]*podman import[^`]*)```/.exec(readFileSync(PAGE, 'utf8'))?.[1];
  if (block === undefined) throw new Error('docs/code-interpreter.md has no command that makes an image');
  return block;
}
