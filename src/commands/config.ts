import { Command } from 'commander';
import type { LoadedConfig } from '../config/load-config.ts';
import { printConfig } from '../config/print-config.ts';
import { redact } from '../config/redact.ts';

export interface ConfigCommandNeeds {
  /** @param flags Options of the command and of those above it, by name. */
  readonly load: (flags: Readonly<Record<string, unknown>>) => LoadedConfig;
  /** Looks at what loading leaves to others: the models. @throws ServiceError `invalid-request`. */
  readonly check: (loaded: LoadedConfig) => Promise<unknown>;
  readonly stdout: { write(text: string): unknown };
}

/** `parley config`: the effective configuration and where each value came from. */
export function configCommand({ load, check, stdout }: ConfigCommandNeeds): Command {
  return new Command('config')
    .description('print the effective configuration with the origin of each value')
    .option('--json', 'one JSON object: file, config, origins')
    .action(async (_options: unknown, command: Command) => {
      const flags = command.optsWithGlobals<Readonly<Record<string, unknown>>>();
      const loaded = load(flags);
      await check(loaded);
      const { config, origins, file } = loaded;
      if (flags['json'] === true) {
        const answer = {
          file: file.exists ? file.path : null,
          config: redact(config),
          origins: Object.fromEntries(origins),
        };
        stdout.write(`${JSON.stringify(answer, undefined, 2)}\n`);
        return;
      }
      stdout.write(`# file: ${file.path}${file.exists ? '' : ' (not there)'}\n${printConfig(config, origins)}`);
    });
}
