import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { on, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { type ParleyOptions, type ParleyProcess, startParley } from '../clients/harness.ts';
import type { Measured, OthersCommand, OthersMessage, OthersOptions } from './others.ts';

/** Longest call of another workspace at the 99th percentile, in ms. */
const OTHERS_MS_MAX = { models: 250, chat: 1000 };

/** Memory in MiB by which a process that serves may grow while an attack runs, unless the attack says otherwise. */
const MEMORY_MIB_MAX = 256;

/** Interval of reading the memory of the service, in ms. */
const MEMORY_READ_MS = 50;

/** An address of this machine besides 127.0.0.1, from which attackers connect: limits per address spare the others. */
export const ATTACKER_ADDRESS = '127.0.0.2';

export interface AttackTarget {
  readonly parley: ParleyProcess;
  /** URL of the service without a path. */
  readonly address: string;
  readonly port: number;
  /** The key of the attacker. Other workspaces have other keys. */
  readonly key: string;
  /** Aborted when the test ends, for connections that would stay open. */
  readonly signal: AbortSignal;
  /** Creates a key with `parley keys create` and these arguments. */
  createKey(...args: readonly string[]): Promise<string>;
}

export interface Attack {
  /** States what the attacker does, e.g. `300 requests on each of 60 connections, which are never read`. */
  readonly name: string;
  /** Memory in MiB by which a process that serves may grow. */
  readonly memoryMibMax?: number;
  /** Attacks, and returns when the service has dealt with it. Throws if the service answers wrongly. */
  run(target: AttackTarget): Promise<void>;
}

export interface AttackedParleyOptions extends ParleyOptions {
  /** Why these attacks cannot run on this machine. Default: they can. */
  readonly skip?: string | false;
}

/**
 * Runs attacks one after the other on a service of their own, a separate process with the scripted engine. During each,
 * another workspace lists models and asks for answers of one token. A test fails if one of these calls fails, if the
 * 99th percentile of their durations is above its limit, or if the service needs too much memory. Each attack reports a
 * row of the table in docs/security.md.
 */
export function describeAttacks(
  title: string,
  { skip = false, ...options }: AttackedParleyOptions,
  attacks: readonly Attack[],
): void {
  describe(title, { skip: platform() === 'linux' ? skip : 'needs /proc and 127.0.0.2' }, () => {
    const workerCount = Number(options.env?.['PARLEY_WORKERS'] ?? 0);
    let parley: ParleyProcess;
    let attackerKey = '';
    let others: Others | undefined;
    before(async () => {
      parley = await startParley({ engine: 'scripted', sequences: 4, ...options });
      // The first key of the service is that of the other workspace.
      [attackerKey, others] = await Promise.all([
        createKey(parley.data, '--workspace', 'attacker'),
        startOthers({ address: parley.address, key: parley.key }),
      ]);
      assert.equal(listWorkers(parley.pid).length, workerCount);
    });
    after(async () => {
      await others?.close();
      await parley?.stop();
    });

    for (const { name, memoryMibMax: processMibMax = MEMORY_MIB_MAX, run } of attacks) {
      const memoryMibMax = processMibMax * Math.max(1, workerCount);
      test(name, async (t) => {
        const target: AttackTarget = {
          parley,
          address: parley.address,
          port: Number(new URL(parley.address).port),
          key: attackerKey,
          signal: t.signal,
          createKey: (...args) => createKey(parley.data, ...args),
        };
        others ??= assert.fail('the other workspace was not started');
        others.start();
        const memory = watchMemory(parley.pid);
        let fault: { readonly error: unknown } | undefined;
        try {
          await run(target);
        } catch (error) {
          fault = { error };
        }
        const measured = await others.stop();
        const memoryMib = memory.stop();
        const p99 = { models: getPercentile(measured.models), chat: getPercentile(measured.chat) };
        const isServed =
          measured.failures.length === 0 && p99.models <= OTHERS_MS_MAX.models && p99.chat <= OTHERS_MS_MAX.chat;
        const verdict = fault ? 'wrong answer' : isServed && memoryMib <= memoryMibMax ? 'served' : 'not served';
        t.diagnostic(
          `| ${name} | ${p99.models.toFixed(0)} ms | ${p99.chat.toFixed(0)} ms | ${memoryMib.toFixed(0)} MiB | ${verdict} |`,
        );
        if (fault) throw fault.error;
        assert.deepEqual(measured.failures.slice(0, 3), [], `${measured.failures.length} calls of others failed`);
        for (const kind of ['models', 'chat'] as const) {
          const text = `99th percentile of ${measured[kind].length} calls of others (${kind}): ${p99[kind]} ms`;
          assert.ok(p99[kind] <= OTHERS_MS_MAX[kind], text);
        }
        assert.ok(memoryMib <= memoryMibMax, `the service grew by ${memoryMib} MiB`);
      });
    }
  });
}

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

async function createKey(data: string, ...args: readonly string[]): Promise<string> {
  const all = ['--disable-warning=ExperimentalWarning', CLI, 'keys', 'create', '--data', data, '--json', ...args];
  const { stdout } = await promisify(execFile)(process.execPath, all);
  const { key } = JSON.parse(stdout) as { key: string };
  return key;
}

interface Others {
  /** Starts to call the service and to measure. */
  start(): void;
  /** Returns what was measured since the start. */
  stop(): Promise<Measured>;
  close(): Promise<void>;
}

/** Starts the thread of the other workspace, and returns when its first calls were answered. */
async function startOthers(options: OthersOptions): Promise<Others> {
  const worker = new Worker(new URL('others.ts', import.meta.url), { workerData: options });
  const messages = on(worker, 'message') as AsyncIterableIterator<[OthersMessage]>;
  const exit = once(worker, 'exit');
  const send = (command: OthersCommand): void => worker.postMessage(command);
  await messages.next();
  return {
    start: () => send('start'),
    async stop() {
      send('end');
      const { value } = (await messages.next()) as IteratorYieldResult<[OthersMessage]>;
      return value[0].type === 'end' ? value[0].measured : assert.fail('no measurements');
    },
    async close() {
      send('exit');
      await exit;
    },
  };
}

/** Reads the memory of a service at short intervals. `stop` returns by how many MiB it grew at most. */
function watchMemory(pid: number): { stop(): number } {
  const readMib = (): number => [pid, ...listWorkers(pid)].map(readProcessMib).reduce((sum, mib) => sum + mib);
  const before = readMib();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, readMib());
  }, MEMORY_READ_MS);
  return {
    stop() {
      clearInterval(timer);
      return peak - before;
    },
  };
}

/** Reads a file of a process. Returns an empty text if the process has ended. */
function readProcessFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

const readProcessMib = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readProcessFile(pid, 'status'))?.[1] ?? 0) / 1024;

/** Lists the worker processes of a service. Its other processes have limits of their own. */
const listWorkers = (pid: number): readonly number[] =>
  (readProcessFile(pid, `task/${pid}/children`).match(/\d+/g) ?? [])
    .map(Number)
    .filter((child) => /\/worker\.[jt]s\0/.test(readProcessFile(child, 'cmdline')));

/** Returns the 99th percentile: of 101 values, the second largest. */
function getPercentile(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.POSITIVE_INFINITY;
}
