import type { Command } from 'commander';

/** What a command works on: of the effective configuration, and closed behind it. */
interface Openable<Opened extends { close(): Promise<void> }> {
  /** @param flags Options of the command and of those above it, by name. */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<Opened>;
}

/** Opens it for the command, and closes it whatever became of the work. */
export async function withOpened<Opened extends { close(): Promise<void> }>(
  { open }: Openable<Opened>,
  command: Command,
  work: (opened: Opened) => Promise<void>,
): Promise<void> {
  const opened = await open(command.optsWithGlobals());
  try {
    await work(opened);
  } finally {
    await opened.close();
  }
}
