import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AttackCommand, AttackReport, AttackName } from './child/attack-messages.ts';
import { spawnInSandbox } from './sandboxed-process.ts';
import { SandboxTimeoutError } from './sandbox-timeout-error.ts';
import { PROCESS_OVERHEAD_MB, PROCESSES_MAX } from './sandboxes/sandbox.ts';
import type { Sandbox } from './sandboxes/sandbox.ts';

/** Attacks that must fail at each level. `basic` does not isolate network and signals (docs/security.md). */
const ATTACKS: Readonly<Record<Sandbox['level'], readonly (readonly AttackName[])[]>> = {
  strict: [['file', 'host-processes', 'environment', 'writing', 'network', 'processes'], ['memory'], ['time']],
  basic: [['file', 'environment', 'writing', 'processes'], ['memory'], ['time']],
};

/** Chosen: ms that an endless loop runs before it is killed, and ms within which it must have ended. */
const LOOP_MS = 300;
const LOOP_TERMINATION_MS = 1_000;

/** Chosen: ms to wait for the end of a killed process. Beyond: some of it has survived. */
const TERMINATION_MS_MAX = 10_000;

/** Chosen: ms for all attacks of one process. */
const ATTACK_MS_MAX = 20_000;

interface AttackOptions {
  /** Memory limit for programs that the sandbox was created with. */
  readonly memoryMb: number;
  readonly signal: AbortSignal;
  /** Limit for all attacks of one process. Default: ATTACK_MS_MAX. */
  readonly msMax?: number;
  /** Limit for the end of a killed process. Default: TERMINATION_MS_MAX. */
  readonly terminationMsMax?: number;
}

/** Variables that systems and images set by themselves. */
const COMMON_VARIABLES = new Set(['PATH', 'HOME', 'HOSTNAME', 'LANG', 'TERM', 'PWD', 'SHLVL', '_']);

/**
 * Attacks a sandbox from within, before anything else runs in it.
 * @throws the signal's reason; SandboxTimeoutError if an attack took too long for a result.
 * @returns a description of the first successful attack; undefined if all attacks failed.
 */
export async function attackSandbox(
  sandbox: Sandbox,
  { memoryMb, signal, msMax = ATTACK_MS_MAX, terminationMsMax = TERMINATION_MS_MAX }: AttackOptions,
): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-attack-'));
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const address = server.address();
    const secret = randomBytes(16).toString('hex');
    const secretFile = join(folder, 'secret');
    await writeFile(secretFile, secret);
    // Readable for everyone, whatever the umask: another user id alone must not pass for isolation of files.
    await Promise.all([chmod(folder, 0o755), chmod(secretFile, 0o644)]);
    const command = {
      secretFile,
      secret,
      servicePid: process.pid,
      serviceCommand: process.execPath,
      environmentHashes: Object.entries(process.env)
        .filter(([name]) => !COMMON_VARIABLES.has(name))
        .map(([name, value]) => createHash('sha256').update(`${name}=${value}`).digest('hex')),
      port: address !== null && typeof address === 'object' ? address.port : 0,
      processesMax: PROCESSES_MAX,
      memoryBytes: (memoryMb + PROCESS_OVERHEAD_MB) * 2 ** 20,
    };
    const outcomes = await Promise.all(
      ATTACKS[sandbox.level].map((attacks) =>
        runAttackProcess(sandbox, { ...command, attacks }, { folder, signal, msMax, terminationMsMax }),
      ),
    );
    const { breach } = outcomes.find((each) => each.breach !== undefined) ?? {};
    if (breach !== undefined) return breach;
    const { timeout } = outcomes.find((each) => each.timeout !== undefined) ?? {};
    if (timeout !== undefined) throw new SandboxTimeoutError(timeout);
    return undefined;
  } finally {
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Result of one process: a successful attack, or an attack that took too long. */
interface AttackOutcome {
  readonly breach?: string;
  readonly timeout?: string;
}

/** Runs several attacks in one process. The attacks on time and memory should end that process. */
async function runAttackProcess(
  sandbox: Sandbox,
  command: Omit<AttackCommand, 'forbiddenFolders' | 'processGroup'>,
  { folder, signal, msMax, terminationMsMax }: Required<Omit<AttackOptions, 'memoryMb'>> & { readonly folder: string },
): Promise<AttackOutcome> {
  const launch = sandbox.launch({
    name: 'attack',
    usesPermissions: sandbox.level === 'basic',
    usesFilter: false,
  });
  const { child, kill: killAll } = spawnInSandbox(launch);
  const started = new Set<AttackName>();
  const results = new Map<AttackName, string | undefined>();
  let stderr = '';
  let line = '';
  let killedAt: number | undefined;
  let survivedKill = false;
  const ended = Promise.withResolvers<void>();
  let terminationTimer: NodeJS.Timeout | undefined;
  const kill = (): void => {
    killedAt ??= performance.now();
    terminationTimer ??= setTimeout(() => {
      survivedKill = true;
      ended.resolve();
    }, terminationMsMax);
    killAll();
  };
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    kill();
  }, msMax);
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-1_000)));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    line += text;
    for (let end = line.indexOf('\n'); end >= 0; end = line.indexOf('\n')) {
      // Written by Parley's code; no other code has run there yet.
      const report = JSON.parse(line.slice(0, end)) as AttackReport;
      line = line.slice(end + 1);
      if (report.type === 'finished') results.set(report.attack, report.breach);
      else {
        started.add(report.attack);
        if (report.attack === 'time') setTimeout(kill, LOOP_MS);
      }
    }
  });
  child.once('error', (error) => {
    stderr = error.message;
    ended.resolve();
  });
  child.once('close', () => ended.resolve());
  const { childFolder } = launch.paths;
  const forbiddenFolders = [folder, childFolder, '/', '/tmp', '/app'];
  const fullCommand: AttackCommand = { ...command, processGroup: child.pid ?? 0, forbiddenFolders };
  child.stdin.write(`${JSON.stringify(fullCommand)}\n`);
  await ended.promise;
  // A process that survived the kill holds the other ends, which would keep this process from ending.
  for (const stream of child.stdio) stream?.destroy();
  child.unref();
  clearTimeout(timer);
  clearTimeout(terminationTimer);
  signal.removeEventListener('abort', kill);
  signal.throwIfAborted();
  if (survivedKill) return { breach: 'its processes cannot be ended' };
  for (const attack of command.attacks) {
    const breach = results.get(attack);
    if (breach !== undefined) return { breach: `it does not contain a program, which ${breach}` };
    if (isTimedOut && !results.has(attack))
      return { timeout: `an attack on it (${attack}) took longer than ${msMax} ms` };
    if (!started.has(attack))
      return { breach: `no process starts in it: ${stderr.trim() || 'it ended without output'}` };
    const isFinished = results.has(attack) || attack === 'memory';
    if (attack === 'time') {
      if (killedAt === undefined) return { breach: 'an endless loop cannot be ended in it' };
      const tookMs = Math.round(performance.now() - killedAt);
      if (tookMs > LOOP_TERMINATION_MS) return { timeout: `it took ${tookMs} ms to end an endless loop in it` };
    } else if (!isFinished) return { breach: `an attack on it (${attack}) had no result: ${stderr.trim()}` };
  }
  return {};
}
