import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const running = new Set<number>();

/** Starts a process that leads its own group, so that whatever it starts can be found and ended with it. */
export function spawnGroup(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(file, args, { ...options, detached: true });
  if (child.pid !== undefined) running.add(child.pid);
  return child;
}

/**
 * Ours: ms in which what ends with its leader has ended, and how often that is looked at. A process that was killed, or whose
 * input has closed, takes a while to go on a busy machine; one that runs on is there for longer.
 */
const GOING_MS_MAX = 5_000;
const LOOK_EVERY_MS = 50;

/**
 * Ends what is left of a group whose leader has exited.
 * @returns the command lines of what goes on running.
 */
export async function endGroup(leader: ChildProcess): Promise<readonly string[]> {
  const { pid } = leader;
  if (pid === undefined) return [];
  const deadline = performance.now() + GOING_MS_MAX;
  let left = membersOf(pid);
  while (left.length > 0 && performance.now() < deadline) {
    await delay(LOOK_EVERY_MS);
    left = membersOf(pid);
  }
  running.delete(pid);
  if (left.length > 0) signalGroup(pid, 'SIGKILL');
  return left;
}

/** Ends every group that was started, at once. */
export function killGroups(): void {
  for (const pid of running) signalGroup(pid, 'SIGKILL');
}

/** A terminal's Ctrl-C and a supervisor's TERM reach this process only; its groups end with it. */
export function endGroupsOnSignal(): void {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      killGroups();
      process.exit(128 + constants.signals[signal]);
    });
  }
  process.on('exit', killGroups);
}

/** @returns false when there is no such group any more. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

/**
 * Processes of a group by command line. Not counted: zombies, which a container without an init keeps for ever, and those
 * that have given their memory back, and with it their command line: they are about to end.
 */
function membersOf(group: number): readonly string[] {
  if (process.platform !== 'linux') return signalGroup(group, 0) ? [`process group ${group}`] : [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // pid (command) state ppid pgrp …; the command may hold spaces and brackets.
        const [state, , pgrp] = readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ');
        if (pgrp !== String(group) || state === 'Z') return [];
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return command === '' ? [] : [command];
      } catch (error) {
        // It ended while we looked.
        if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return [];
        throw error;
      }
    });
}
