import type { Command } from 'commander';
import type { LoadedConfig } from '../config/load-config.ts';
import type { Capability } from '../service/capability.ts';

/** A capability that may add commands to the command line. */
export interface CommandCapability extends Capability {
  createCommands?(deps: CommandDeps): readonly Command[];
}

/** Values that the commands of capabilities share with all others. */
export interface CommandDeps {
  /** Loads the configuration. `flags`: options of the command and its parent commands, by name. */
  readonly load: (flags: Readonly<Record<string, unknown>>) => LoadedConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** All capabilities, for a command that opens the service or its tools. */
  readonly capabilities: readonly Capability[];
}
