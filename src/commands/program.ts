import { Command, Option } from 'commander';
import { loadConfig } from '../config/load-config.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { CONFIG_FILE_OPTION, SETTINGS } from '../config/settings.ts';
import { systemClock } from '../lib/clock.ts';
import { addToConfigFile } from '../config/config-file.ts';
import {
  openCatalogue,
  openConfiguredBlobs,
  openConversations,
  openJobQueue,
  openKeys,
  openRuntimes,
  openWeights,
  getServedContext,
  openHubIndex,
  SILENT_LOG,
} from '../service/open-components.ts';
import { detectToolCallsOfFile } from '../service/detect-loaded-model-info.ts';
import { getDatabaseFile } from '../service/open-backups.ts';
import { queryServers } from '../service/query-servers.ts';
import type { CommandCapability } from './command-capability.ts';
import { createBackupCommand } from './backup-command.ts';
import { createCheckCommand } from './check-command.ts';
import { createConfigCommand } from './config-command.ts';
import { createConversationsCommand } from './conversations-command.ts';
import { createDiskCommand } from './disk-command.ts';
import { createEnginesCommand } from './engines-command.ts';
import { createJobsCommand } from './jobs-command.ts';
import { createKeysCommand } from './keys-command.ts';
import { createMigrateCommand } from './migrate-command.ts';
import { createModelsCommand } from './models-command.ts';
import { readPackageVersion } from './read-package-version.ts';
import { createRestoreCommand } from './restore-command.ts';
import { createServeCommand } from './serve-command.ts';
import { isServerRunning } from './server-registration.ts';
import { createSpeechSetup } from './speech-setup.ts';

interface ProcessLike {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Exit code of the program unless it fails. */
  exitCode?: number | string | null | undefined;
}

/**
 * Creates the `parley` command line, with the commands of the capabilities. Every command accepts the flags of all
 * settings.
 */
export function createProgram(host: ProcessLike, capabilities: readonly CommandCapability[]): Command {
  const { env, stdin, stdout, stderr } = host;
  const program = new Command('parley')
    .description('A self-hosted model service for unmodified API clients, on your own hardware.')
    .version(readPackageVersion())
    .showHelpAfterError('(run with --help to see the usage)')
    .exitOverride();
  const load = (flags: Readonly<Record<string, unknown>>): LoadedConfig => {
    const loaded = loadConfig({ flags, env });
    for (const warning of loaded.warnings) stderr.write(`parley: ${warning}\n`);
    return loaded;
  };
  const withSettings = (command: Command, parent: Command): Command => {
    // addCommand() does not copy settings: without them a usage error would exit with 1 and without the help hint.
    command.copyInheritedSettings(parent);
    for (const { flag } of SETTINGS) if (flag) command.addOption(new Option(flag.option, flag.description));
    command.addOption(new Option(CONFIG_FILE_OPTION.option, CONFIG_FILE_OPTION.description));
    for (const sub of command.commands) withSettings(sub, command);
    return command;
  };

  const commandDeps = { load, env, stdin, stdout, stderr, capabilities };
  const commands = [
    createServeCommand({
      load,
      env,
      capabilities,
      stdin,
      stdout,
      openSpeechSetup: async (config) =>
        createSpeechSetup({
          catalogue: await openCatalogue(config),
          runtimes: openRuntimes(config, env),
          weights: openWeights(config, env),
        }),
    }),
    createKeysCommand({ open: (flags) => openKeys(load(flags).config), clock: systemClock, stdout, stderr }),
    createConversationsCommand({ open: (flags) => openConversations(load(flags).config), stdout, stderr }),
    createBackupCommand({ load, env, stdout, stderr }),
    createRestoreCommand({ load, env, stdout, stderr }),
    createDiskCommand({ load, env, stdout, setExitCode: (code) => void (host.exitCode = code) }),
    createMigrateCommand({ load, stdout }),
    createJobsCommand({ open: (flags) => openJobQueue(load(flags).config), stdout }),
    createModelsCommand({
      open: async (flags) => {
        const { config, file } = load(flags);
        return {
          catalogue: await openCatalogue(config),
          weights: openWeights(config, env),
          hub: openHubIndex(config),
          detectToolCalls: detectToolCallsOfFile,
          queryServers: (entry) => queryServers(entry, { environment: env, log: SILENT_LOG }),
          served: getServedContext(config.engine),
          runtimes: openRuntimes(config, env),
          addToConfig: (section, key, value) => addToConfigFile(file.path, section, { key, value }),
          // A running server watches the file itself.
          reloadServer: () => isServerRunning(config.data),
        };
      },
      stdout,
      stderr,
    }),
    createEnginesCommand({ open: (flags) => openRuntimes(load(flags).config, env), stdout, stderr }),
    ...capabilities.flatMap(({ createCommands }) => createCommands?.(commandDeps) ?? []),
    createCheckCommand({
      async open(flags) {
        const { config } = load(flags);
        return {
          databaseFile: getDatabaseFile(config),
          modelsFolder: config.modelsFolder,
          weights: (await openCatalogue(config)).listWeights(),
          weightsStore: openWeights(config, env),
          openBlobs: () => openConfiguredBlobs(config, env),
        };
      },
      clock: systemClock,
      stdout,
      stderr,
      setExitCode: (code) => void (host.exitCode = code),
    }),
    createConfigCommand({ load, check: ({ config }) => openCatalogue(config), stdout }),
  ];
  for (const command of commands) program.addCommand(withSettings(command, program));
  return program;
}
