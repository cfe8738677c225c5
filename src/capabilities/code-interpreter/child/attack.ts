// Main file of a process that tries to break out of its sandbox, like an attacker who controls the whole runtime. It
// runs
// before any program and reports what it achieved. Like main.ts, it needs only the files of this folder.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { AttackCommand, AttackReport, AttackName } from './attack-messages.ts';
import { readLines } from './read-lines.ts';

/** Chosen: timeout of a connection attempt in ms. */
const CONNECT_TIMEOUT_MS = 1_000;

const BLOCK_BYTES = 32 * 2 ** 20;

const ATTACKS: Readonly<Record<AttackName, (order: AttackCommand) => Promise<string | undefined>>> = {
  file: async ({ secretFile, secret, servicePid }) => {
    const paths = [secretFile, `/proc/1/root${secretFile}`, `/proc/${servicePid}/root${secretFile}`];
    return findFirst(paths, (path) => (readFileSync(path, 'utf8').includes(secret) ? `read ${path}` : undefined));
  },
  'host-processes': async ({ servicePid, serviceCommand, processGroup }) => {
    const paths = [`/proc/${servicePid}/cmdline`];
    const read = findFirst(paths, (path) =>
      readFileSync(path, 'utf8').includes(serviceCommand) ? `read ${path}` : undefined,
    );
    if (read !== undefined) return read;
    // In a process namespace of its own, the group does not exist; if it may not be signaled, it is still visible.
    try {
      process.kill(-processGroup, 0);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return undefined;
    }
    return 'sees processes outside of the sandbox';
  },
  environment: async ({ environmentHashes }) => {
    const serviceHashes = new Set(environmentHashes);
    const leaked = Object.entries(process.env).find(([name, value]) =>
      serviceHashes.has(createHash('sha256').update(`${name}=${value}`).digest('hex')),
    );
    return leaked && `${leaked[0]} is the service's`;
  },
  writing: async ({ forbiddenFolders }) =>
    findFirst(forbiddenFolders, (folder) => {
      writeFileSync(`${folder}/attack`, 'x'.repeat(1_000));
      return `wrote into ${folder}`;
    }),
  network: async ({ port }) => {
    const outer = Object.values(networkInterfaces()).flat();
    if (outer.some((address) => address?.internal === false)) return 'has an interface to the network';
    return (await canConnect(port)) ? 'reached a port of this machine' : undefined;
  },
  processes: async ({ processesMax }) => {
    const alive = await spawnMany(processesMax + 1);
    return alive > processesMax ? `started ${alive} processes` : undefined;
  },
  memory: async ({ memoryBytes }) => {
    const blocks: Uint8Array[] = [];
    while (blocks.length * BLOCK_BYTES < memoryBytes) blocks.push(new Uint8Array(BLOCK_BYTES).fill(1));
    return `took ${blocks.length * BLOCK_BYTES} bytes of memory`;
  },
  time: async () => {
    for (;;) if (Date.now() < 0) return 'ran an endless loop to its end';
  },
};

readLines(process.stdin, (line) => void runAttacks(JSON.parse(line) as AttackCommand));

async function runAttacks(command: AttackCommand): Promise<void> {
  for (const attack of command.attacks) {
    sendReport({ type: 'started', attack });
    const breach = await ATTACKS[attack](command).catch(() => undefined);
    sendReport({ type: 'finished', attack, ...(breach !== undefined && { breach }) });
  }
  process.exit(0);
}

function sendReport(report: AttackReport): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

/** Returns the first finding. An attempt that throws has been contained. */
function findFirst<Item>(items: readonly Item[], attempt: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    try {
      const finding = attempt(item);
      if (finding !== undefined) return finding;
    } catch {
      continue;
    }
  }
  return undefined;
}

const canConnect = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: CONNECT_TIMEOUT_MS });
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('timeout', () => resolve(false));
  });

async function spawnMany(countMax: number): Promise<number> {
  const alive = new Set<ChildProcess>();
  for (let count = 0; count < countMax; count++) {
    const isStarted = await new Promise<boolean>((resolve) => {
      try {
        // Inherits standard output, because redirecting it would require /dev.
        const child = spawn(process.execPath, ['-e', 'setTimeout(() => 0, 60000)'], { stdio: 'inherit' });
        alive.add(child);
        child.once('spawn', () => resolve(true));
        child.once('error', () => resolve(alive.delete(child) && false));
        child.once('exit', () => alive.delete(child));
      } catch {
        resolve(false);
      }
    });
    if (!isStarted) break;
  }
  const count = alive.size;
  for (const child of alive) child.kill('SIGKILL');
  return count;
}
