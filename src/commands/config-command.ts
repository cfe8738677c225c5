import { Command } from 'commander';
import type { LoadedConfig } from '../config/load-config.ts';
import { formatConfig } from '../config/format-config.ts';
import { redact } from '../config/redact.ts';

export interface ConfigCommandDeps {
  /** @param flags Options of the command and its parent commands, by name. */
  readonly load: (flags: Readonly<Record<string, unknown>>) => LoadedConfig;
  /** Checks the models, which loading does not validate. @throws ServiceError `invalid-request`. */
  readonly check: (loaded: LoadedConfig) => Promise<unknown>;
  readonly stdout: { write(text: string): unknown };
}

/** Creates `parley config`, which prints the effective configuration and the origin of each value. */
export function createConfigCommand({ load, check, stdout }: ConfigCommandDeps): Command {
  return new Command('config')
    .description('print the effective configuration with the origin of each value')
    .option('--json', 'one JSON object: file, config, origins')
    .action(async (_options: unknown, command: Command) => {
      const flags = command.optsWithGlobals<Readonly<Record<string, unknown>>>();
      const loaded = load(flags);
      await check(loaded);
      const { config, origins, file } = loaded;
      if (flags['json'] === true) {
        const output = {
          file: file.exists ? file.path : null,
          config: redact(config),
          origins: Object.fromEntries(origins),
        };
        stdout.write(`${JSON.stringify(output, undefined, 2)}\n`);
        return;
      }
      stdout.write(`# file: ${file.path}${file.exists ? '' : ' (does not exist)'}\n${formatConfig(config, origins)}`);
    });
}
