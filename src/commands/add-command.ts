import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { ServiceError } from '../core/error.ts';
import type { ModelsCommandDeps } from './models-command-deps.ts';
import { parseTokens } from './parse-tokens.ts';

interface AddOptions {
  readonly hub?: string;
  readonly revision?: string;
  readonly sha256?: string;
  readonly trust?: true;
  readonly path?: string;
  readonly url?: string;
  readonly upstreamModel?: string;
  readonly apiKeyEnv?: string;
  readonly contextTokens?: number;
}

/** Creates `parley models add`. */
export function createAddCommand({ open, stdout }: ModelsCommandDeps): Command {
  return new Command('add')
    .description('add a model to the configuration file; a running server reloads it')
    .argument('<name>', 'model name for API clients')
    .addOption(
      new Option('--hub <reference>', 'file on the model hub: owner/repository/file.gguf').conflicts(['path', 'url']),
    )
    .option('--revision <commit>', 'with --hub: branch, tag or commit (default: main)')
    .option('--sha256 <hash>', 'with --hub: hash that the file must have')
    .option('--trust', 'with --hub: also download a file whose SHA-256 nobody states')
    .addOption(new Option('--path <file>', 'model file on this machine').conflicts('url'))
    .option('--url <address>', 'OpenAI-compatible server, e.g. http://127.0.0.1:9000/v1')
    .option('--upstream-model <name>', 'with --url: name of the model on that server (default: the same)')
    .option('--api-key-env <variable>', 'with --url: environment variable with the API key of that server')
    .option('--context-tokens <number>', 'context size: tokens of prompt and answer together', parseTokens)
    .action(async (name: string, options: AddOptions, command: Command) => {
      const { hub, revision, sha256, trust, path, url, upstreamModel, apiKeyEnv, contextTokens } = options;
      const file = path === undefined ? undefined : resolve(path);
      const value = omitUndefined({
        hub,
        revision,
        sha256,
        trust,
        path: file,
        url,
        upstreamModel,
        apiKeyEnv,
        contextTokens,
      });
      if ((hub ?? path ?? url) === undefined) {
        throw new ServiceError('invalid-request', 'The model has no source. Pass --hub, --path or --url.');
      }
      parseCatalogueAdditions({ models: { [name]: value } }); // throws before the file is changed
      if (file !== undefined && !isFile(file)) {
        throw new ServiceError('invalid-request', `The file ${file} does not exist.`, { param: 'path' });
      }
      const context = await open(command.optsWithGlobals());
      await context.addToConfig('models', name, value);
      const isServerRunning = await context.reloadServer();
      stdout.write(`${name} added; ${isServerRunning ? 'the running server reloads it' : 'no server is running'}\n`);
      if (hub !== undefined) stdout.write(`Download its weights with: parley models pull ${name}\n`);
    });
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

const omitUndefined = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
