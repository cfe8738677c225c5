import { spawnPiped } from '../../../lib/spawn-piped.ts';
import { CODE_REMOVAL_RETRY_MS } from '../limits.ts';
import type { SandboxLaunch } from './sandbox.ts';

/** Removes the container of one process, in whatever way its engine, its command or the service ends. */
export interface ContainerGuard {
  /** Must be called when the container is known to exist: nothing creates it anymore. */
  confirmCreation(): void;
  /** Removes the container. Only the first call has an effect. */
  remove(): void;
  /** Resolves when the container is removed and cannot be created anymore. Never rejects. */
  readonly removal: Promise<void>;
}

/**
 * Shell script that removes the container `$1` with the engine `$0` when its standard input ends, and exits with 0 when that
 * is final. It ignores the signals that end services. Its first line of input is the process id of the command that creates
 * the container; a second line tells that the container was created.
 *
 * A removal is final if the container existed, or if nothing can create it anymore: its command has ended, and an engine
 * that still worked for the command has had 5 s. Otherwise the removal is repeated, 30 times at most.
 */
const GUARD_SCRIPT = `trap '' HUP INT TERM
created=
read -r command && read -r created && read -r _
[ -n "$created" ] && "$0" rm --force --volumes "$1" && exit 0
attempt=0
quiet=0
while [ "$attempt" -lt 30 ]; do
  if found=$("$0" ps --all --quiet --filter "name=$1"); then
    if [ -n "$found" ]; then created=yes
    elif [ -n "$created" ]; then exit 0
    elif ! kill -0 "$command"; then
      quiet=$((quiet + 1))
      [ "$quiet" -gt 6 ] && exit 0
    fi
  fi
  "$0" rm --force --volumes "$1" && [ -n "$created" ] && exit 0
  attempt=$((attempt + 1))
  if [ "$attempt" -eq 1 ]; then sleep 0.2; else sleep 1; fi
done
exit 1`;

/**
 * Starts the guard of a container: a shell outside of the container that waits for the end of a pipe, so that it also acts
 * when this process has ended. If it could not remove the container, another one tries again, as long as this process runs.
 * @param commandPid Process id of the command that creates the container; undefined if it did not start.
 */
export function startContainerGuard(
  { engine, name }: NonNullable<SandboxLaunch['container']>,
  { env, commandPid }: { readonly env: SandboxLaunch['env']; readonly commandPid: number | undefined },
): ContainerGuard {
  const { promise: removal, resolve } = Promise.withResolvers<void>();
  let isCreated = false;
  let isRemoving = false;

  let current: ReturnType<typeof startShell> | undefined;
  const startShell = () => {
    // Without output: a shell that outlives this process must not end when it writes.
    const options = { env, cwd: '/', detached: true };
    const shell = spawnPiped('/bin/sh', ['-c', GUARD_SCRIPT, engine, name], options, 'ignore');
    const onEnd = (code?: number | null): void => {
      current = undefined;
      if (code === 0) resolve();
      else if (isRemoving) setTimeout(endInput, CODE_REMOVAL_RETRY_MS).unref();
    };
    shell.once('error', () => onEnd()).once('exit', onEnd);
    shell.unref();
    shell.stdin.on('error', () => undefined);
    shell.stdin.write(`${commandPid ?? ''}\n${isCreated ? 'created\n' : ''}`);
    return shell;
  };
  current = startShell();
  const endInput = (): void => {
    current ??= startShell();
    current.stdin.end();
  };

  return {
    removal,
    confirmCreation() {
      if (!isCreated) current?.stdin.write('created\n');
      isCreated = true;
    },
    remove() {
      if (isRemoving) return;
      isRemoving = true;
      endInput();
    },
  };
}
