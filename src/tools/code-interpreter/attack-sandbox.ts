import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AttackOrder, AttackReport, Tried } from './child/attack-order.ts';
import { OutOfTime } from './out-of-time.ts';
import { PROCESS_MB, PROCESSES_MAX } from './sandboxes/sandbox.ts';
import type { Sandbox } from './sandboxes/sandbox.ts';

/** What a process of the level may not do. `basic` knows no border for network and signals: docs/security.md. */
const ATTACKS: Readonly<Record<Sandbox['level'], readonly (readonly Tried[])[]>> = {
  strict: [['file', 'host-processes', 'environment', 'writing', 'network', 'processes'], ['memory'], ['time']],
  basic: [['file', 'environment', 'writing', 'processes'], ['memory'], ['time']],
};

/** Ours: ms that a loop without end runs before it is ended, and ms for it to be gone. */
const LOOP_MS = 300;
const END_MS = 1_000;

/** Ours: ms that are waited for the end of a process that was killed. Beyond: something of it lives on. */
const GONE_MS_MAX = 10_000;

/** Ours: ms for all attacks of one process. */
const ATTACK_MS_MAX = 20_000;

interface AttackOptions {
  /** What the sandbox was told that programs may have. */
  readonly memoryMb: number;
  readonly signal: AbortSignal;
  /** For all attacks of one process; default: ATTACK_MS_MAX. */
  readonly msMax?: number;
}

/** Names that systems and images set by themselves. */
const EVERYWHERE = new Set(['PATH', 'HOME', 'HOSTNAME', 'LANG', 'TERM', 'PWD', 'SHLVL', '_']);

/**
 * Attacks a sandbox from within, before anything else runs in it.
 * @throws the signal's reason; OutOfTime where that cannot be told, as it took too long.
 * @returns what it does not contain, in words; undefined: it held.
 */
export async function attackSandbox(
  sandbox: Sandbox,
  { memoryMb, signal, msMax = ATTACK_MS_MAX }: AttackOptions,
): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-attack-'));
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const address = server.address();
    const secret = randomBytes(16).toString('hex');
    const secretFile = join(folder, 'secret');
    await writeFile(secretFile, secret);
    // Anybody may read it, whatever the umask: that a process is another user, who may not, is no border of files.
    await Promise.all([chmod(folder, 0o755), chmod(secretFile, 0o644)]);
    const order = {
      secretFile,
      secret,
      ownerPid: process.pid,
      ownerCommand: process.execPath,
      environmentHashes: Object.entries(process.env)
        .filter(([name]) => !EVERYWHERE.has(name))
        .map(([name, value]) => createHash('sha256').update(`${name}=${value}`).digest('hex')),
      port: address !== null && typeof address === 'object' ? address.port : 0,
      processesMax: PROCESSES_MAX,
      memoryBytes: (memoryMb + PROCESS_MB) * 2 ** 20,
    };
    const found = await Promise.all(
      ATTACKS[sandbox.level].map((attacks) => attackBy(sandbox, { ...order, attacks }, { folder, signal, msMax })),
    );
    const { broke } = found.find((each) => each.broke !== undefined) ?? {};
    if (broke !== undefined) return broke;
    const { late } = found.find((each) => each.late !== undefined) ?? {};
    if (late !== undefined) throw new OutOfTime(late);
    return undefined;
  } finally {
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** What a process found: what is not contained, or what took too long to be told. */
interface Found {
  readonly broke?: string;
  readonly late?: string;
}

/** Several attacks by one process; those of its time and memory may end it, which is what is wanted. */
async function attackBy(
  sandbox: Sandbox,
  order: Omit<AttackOrder, 'writableFolders' | 'group'>,
  { folder, signal, msMax }: Required<Omit<AttackOptions, 'memoryMb'>> & { readonly folder: string },
): Promise<Found> {
  const launch = sandbox.launch({ name: 'attack', isSealed: sandbox.level === 'basic' });
  const child = spawn(launch.command, launch.args, { env: { ...launch.env }, cwd: '/', detached: true });
  const begun = new Set<Tried>();
  const tried = new Map<Tried, string | undefined>();
  let said = '';
  let line = '';
  let killedAt: number | undefined;
  let hasStayed = false;
  const over = Promise.withResolvers<void>();
  let waiting: NodeJS.Timeout | undefined;
  const kill = (): void => {
    killedAt ??= performance.now();
    waiting ??= setTimeout(() => {
      hasStayed = true;
      over.resolve();
    }, GONE_MS_MAX);
    if (launch.end)
      spawn(launch.end.command, launch.end.args, { env: { ...launch.env }, stdio: 'ignore' }).on(
        'error',
        () => undefined,
      );
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      child.kill('SIGKILL');
    }
  };
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, msMax);
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  child.stdin.on('error', () => undefined);
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-1_000)));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    line += text;
    for (let end = line.indexOf('\n'); end >= 0; end = line.indexOf('\n')) {
      // Our own code wrote it, and nobody else's has run there yet.
      const report = JSON.parse(line.slice(0, end)) as AttackReport;
      line = line.slice(end + 1);
      if (report.type === 'tried') tried.set(report.tried, report.broke);
      else {
        begun.add(report.tried);
        if (report.tried === 'time') setTimeout(kill, LOOP_MS);
      }
    }
  });
  child.once('error', (error) => {
    said = error.message;
    over.resolve();
  });
  child.once('close', () => over.resolve());
  const { childFolder } = launch.places;
  const writableFolders = [folder, childFolder, '/', '/tmp', '/app'];
  child.stdin.write(`${JSON.stringify({ ...order, group: child.pid ?? 0, writableFolders })}\n`);
  await over.promise;
  clearTimeout(timer);
  clearTimeout(waiting);
  signal.removeEventListener('abort', kill);
  signal.throwIfAborted();
  if (hasStayed) return { broke: 'what runs in it cannot be ended' };
  for (const attack of order.attacks) {
    const broke = tried.get(attack);
    if (broke !== undefined) return { broke: `it does not contain a program, which ${broke}` };
    if (isLate && !tried.has(attack)) return { late: `an attack on it (${attack}) took longer than ${msMax} ms` };
    if (!begun.has(attack))
      return { broke: `a process does not start in it: ${said.trim() || 'it ended without a word'}` };
    const isOver = tried.has(attack) || attack === 'memory';
    if (attack === 'time') {
      if (killedAt === undefined) return { broke: 'a loop without end cannot be ended in it' };
      const tookMs = Math.round(performance.now() - killedAt);
      if (tookMs > END_MS) return { late: `it took ${tookMs} ms to end a loop without end in it` };
    } else if (!isOver)
      return { broke: `it was not found out whether it contains a program (${attack}): ${said.trim()}` };
  }
  return {};
}
