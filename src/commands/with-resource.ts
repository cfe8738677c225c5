import type { Command } from 'commander';

/** Opens the resource of a command, as the effective configuration says. */
interface ResourceDeps<Opened extends { close(): Promise<void> }> {
  /** @param flags Options of the command and its parent commands, by name. */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<Opened>;
}

/** Opens the resource, runs the work, and closes the resource also after a failure. */
export async function withResource<Opened extends { close(): Promise<void> }>(
  { open }: ResourceDeps<Opened>,
  command: Command,
  work: (resource: Opened) => Promise<void>,
): Promise<void> {
  const opened = await open(command.optsWithGlobals());
  try {
    await work(opened);
  } finally {
    await opened.close();
  }
}
