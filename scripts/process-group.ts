import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const running = new Set<number>();

/** Starts a process that leads its own process group, so that everything it starts can be found and killed with it. */
export function spawnGroup(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(file, args, { ...options, detached: true });
  if (child.pid !== undefined) running.add(child.pid);
  return child;
}

/**
 * How long processes of a group may take to exit after their leader, and how often that is polled, in ms. On a busy
 * machine a killed process, or one whose input was closed, takes a while to exit; a leaked one stays longer.
 */
const EXIT_MS_MAX = 5_000;
const POLL_MS = 50;

/**
 * Waits until a group is empty after its leader has exited, and kills what is left after `exitMsMax`.
 * @param exitMsMax Default: EXIT_MS_MAX.
 * @returns the command lines of processes that were killed.
 */
export async function finishGroup(leader: ChildProcess, exitMsMax = EXIT_MS_MAX): Promise<readonly string[]> {
  const { pid } = leader;
  if (pid === undefined) return [];
  const deadline = performance.now() + exitMsMax;
  let left = listGroupMembers(pid);
  while (left.length > 0 && performance.now() < deadline) {
    await delay(POLL_MS);
    left = listGroupMembers(pid);
  }
  running.delete(pid);
  if (left.length > 0) signalGroup(pid, 'SIGKILL');
  return left;
}

/** Kills every group that was started. */
export function killGroups(): void {
  for (const pid of running) signalGroup(pid, 'SIGKILL');
}

/**
 * Kills all groups when this process receives a signal, because signals of a terminal or supervisor reach only this
 * process.
 */
export function killGroupsOnSignal(): void {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      killGroups();
      process.exit(128 + constants.signals[signal]);
    });
  }
  process.on('exit', killGroups);
}

/** Sends a signal to a process group. @returns false when the group no longer exists. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

/**
 * Lists the command lines of a group's processes. Skips zombies, which a container without an init process keeps, and
 * processes without a command line: they have released their memory and are exiting.
 */
function listGroupMembers(group: number): readonly string[] {
  if (process.platform !== 'linux') return signalGroup(group, 0) ? [`process group ${group}`] : [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // Format: pid (command) state ppid pgrp …; the command may contain spaces and parentheses.
        const [state, , pgrp] = readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ');
        if (pgrp !== String(group) || state === 'Z') return [];
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return command === '' ? [] : [command];
      } catch (error) {
        // The process exited while its files were read.
        if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return [];
        throw error;
      }
    });
}
