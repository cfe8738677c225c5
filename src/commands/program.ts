import { Command, Option } from 'commander';
import { loadConfig } from '../config/load-config.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { CONFIG_FILE_OPTION, SETTINGS } from '../config/settings.ts';
import { systemClock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import { addToConfigFile } from '../config/config-file.ts';
import {
  openCatalogue,
  openConversations,
  openJobQueue,
  openKeys,
  openRuntimes,
  openWeights,
} from '../service/parts.ts';
import { openResearchRunner } from '../service/open-research-runner.ts';
import { openSearchIndex } from '../service/open-search-index.ts';
import { configCommand } from './config.ts';
import { conversationsCommand } from './conversations.ts';
import { enginesCommand } from './engines.ts';
import { indexCommand } from './index-command.ts';
import { jobsCommand } from './jobs.ts';
import { keysCommand } from './keys.ts';
import { modelsCommand } from './models.ts';
import { packageVersion } from './package-version.ts';
import { createAskPerson } from './research/ask-person.ts';
import { researchCommand } from './research/research-command.ts';
import { serveCommand } from './serve.ts';
import { isServerRunning } from './server-note.ts';

interface ProcessLike {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** The whole command line. Every setting that has a flag can be given to every command. */
export function createProgram({ env, stdin, stdout, stderr }: ProcessLike): Command {
  const program = new Command('parley')
    .description('A self-hosted model service: existing clients, unmodified, on hardware you own.')
    .version(packageVersion())
    .showHelpAfterError('(--help shows what there is)')
    .exitOverride();
  const load = (flags: Readonly<Record<string, unknown>>): LoadedConfig => {
    const loaded = loadConfig({ flags, env });
    for (const warning of loaded.warnings) stderr.write(`parley: ${warning}\n`);
    return loaded;
  };
  const withSettings = (command: Command, parent: Command): Command => {
    // A command that is joined on does not inherit them by itself: it would end the process with 1, and no hint.
    command.copyInheritedSettings(parent);
    for (const { flag } of SETTINGS) if (flag) command.addOption(new Option(flag.option, flag.description));
    command.addOption(new Option(CONFIG_FILE_OPTION.option, CONFIG_FILE_OPTION.description));
    for (const sub of command.commands) withSettings(sub, command);
    return command;
  };

  const commands = [
    serveCommand({ load, env, stdout, stderr }),
    keysCommand({ open: (flags) => openKeys(load(flags).config), clock: systemClock, stdout, stderr }),
    conversationsCommand({ open: (flags) => openConversations(load(flags).config), stdout, stderr }),
    indexCommand({
      open: (flags) => {
        const warn = (message: string): void => void stderr.write(`parley: ${message}\n`);
        return openSearchIndex(load(flags).config, { environment: env, log: { warn } });
      },
      stdout,
      stderr,
    }),
    researchCommand({
      open: (flags, warn) => openResearchRunner(load(flags).config, { environment: env, warn }),
      ask: createAskPerson({ stdin, stderr }),
      clock: systemClock,
      every,
      stdout,
      stderr,
      isStyled: stderr.isTTY && !env['NO_COLOR'],
    }),
    jobsCommand({ open: (flags) => openJobQueue(load(flags).config), stdout }),
    modelsCommand({
      open: async (flags) => {
        const { config, file } = load(flags);
        return {
          catalogue: await openCatalogue(config),
          weights: openWeights(config, env),
          runtimes: openRuntimes(config, env),
          addToConfig: (section, key, value) => addToConfigFile(file.path, section, { key, value }),
          // A running server looks at the file by itself.
          reloadServer: () => isServerRunning(config.data),
        };
      },
      stdout,
      stderr,
    }),
    enginesCommand({ open: (flags) => openRuntimes(load(flags).config, env), stdout, stderr }),
    configCommand({ load, check: ({ config }) => openCatalogue(config), stdout }),
  ];
  for (const command of commands) program.addCommand(withSettings(command, program));
  return program;
}
