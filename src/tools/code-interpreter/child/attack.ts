// Main file of a process that tries to break out of the sandbox it was started in, as somebody would who has got hold of the
// whole runtime. It is started before any program is, and says what it could do. Like main.ts it needs only this folder.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { AttackOrder, AttackReport, Tried } from './attack-order.ts';
import { onLines } from './on-lines.ts';

/** Ours: ms for a connection to come about, and for processes to be started. */
const PATIENCE_MS = 1_000;

const BLOCK_BYTES = 32 * 2 ** 20;

const ATTACKS: Readonly<Record<Tried, (order: AttackOrder) => Promise<string | undefined>>> = {
  file: async ({ secretFile, secret, ownerPid }) => {
    const paths = [secretFile, `/proc/1/root${secretFile}`, `/proc/${ownerPid}/root${secretFile}`];
    return firstOf(paths, (path) => (readFileSync(path, 'utf8').includes(secret) ? `read ${path}` : undefined));
  },
  'host-processes': async ({ ownerPid, ownerCommand, group }) => {
    const paths = [`/proc/${ownerPid}/cmdline`];
    const read = firstOf(paths, (path) =>
      readFileSync(path, 'utf8').includes(ownerCommand) ? `read ${path}` : undefined,
    );
    if (read !== undefined) return read;
    // Where processes have numbers of their own, no group has that one; where it may not be signalled, it is seen.
    try {
      process.kill(-group, 0);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return undefined;
    }
    return 'sees processes outside of it';
  },
  environment: async ({ environmentHashes }) => {
    const known = new Set(environmentHashes);
    const leaked = Object.entries(process.env).find(([name, value]) =>
      known.has(createHash('sha256').update(`${name}=${value}`).digest('hex')),
    );
    return leaked && `${leaked[0]} is the service's`;
  },
  writing: async ({ writableFolders }) =>
    firstOf(writableFolders, (folder) => {
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
    for (;;) if (Date.now() < 0) return 'time has gone back';
  },
};

onLines(process.stdin, (line) => void attack(JSON.parse(line) as AttackOrder));

async function attack(order: AttackOrder): Promise<void> {
  for (const tried of order.attacks) {
    tell({ type: 'begun', tried });
    const broke = await ATTACKS[tried](order).catch(() => undefined);
    tell({ type: 'tried', tried, ...(broke !== undefined && { broke }) });
  }
  process.exit(0);
}

function tell(report: AttackReport): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

/** The first that does not fail; to fail is to be contained. */
function firstOf<Item>(items: readonly Item[], attempt: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    try {
      const found = attempt(item);
      if (found !== undefined) return found;
    } catch {
      continue;
    }
  }
  return undefined;
}

const canConnect = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: PATIENCE_MS });
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('timeout', () => resolve(false));
  });

async function spawnMany(most: number): Promise<number> {
  const alive = new Set<ChildProcess>();
  for (let count = 0; count < most; count++) {
    const isStarted = await new Promise<boolean>((resolve) => {
      try {
        // To open what takes their output would need a /dev.
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
