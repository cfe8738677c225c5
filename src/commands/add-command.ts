import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { fitsMachine } from '../catalogue/recommend.ts';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { ServiceError } from '../core/error.ts';
import type { ModelsCommandContext, ModelsCommandDeps } from './models-command-deps.ts';
import { readMachine } from './read-machine.ts';
import {
  describeModelFile,
  parseHubReference,
  resolveHubReference,
  type HubReference,
} from './resolve-hub-reference.ts';
import { parseTokens } from './parse-tokens.ts';

interface AddOptions {
  readonly weights?: string;
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
export function createAddCommand({ open, stdout, stderr, machine = readMachine }: ModelsCommandDeps): Command {
  return new Command('add')
    .description('add a model to the configuration file; a running server reloads it')
    .argument('<name>', 'model name for API clients')
    .addOption(
      new Option('--weights <id>', 'weights of the catalogue, as `parley models list` shows them').conflicts([
        'hub',
        'path',
        'url',
      ]),
    )
    .addOption(
      new Option(
        '--hub <reference>',
        'file on the model hub: OWNER/REPO/FILE.gguf, or OWNER/REPO[:QUANT], which pins commit and hash',
      ).conflicts(['path', 'url']),
    )
    .option('--revision <commit>', 'with --hub: branch, tag or commit (default: main)')
    .option(
      '--sha256 <hash>',
      'with --hub: hash that the file must have; of a split file, those of its parts, with commas between',
    )
    .option('--trust', 'with --hub: also download a file whose SHA-256 nobody states')
    .addOption(new Option('--path <file>', 'model file on this machine').conflicts('url'))
    .option('--url <address>', 'OpenAI-compatible server, e.g. http://127.0.0.1:9000/v1')
    .option('--upstream-model <name>', 'with --url: name of the model on that server (default: the same)')
    .option('--api-key-env <variable>', 'with --url: environment variable with the API key of that server')
    .option('--context-tokens <number>', 'context size: tokens of prompt and answer together', parseTokens)
    .action(async (name: string, options: AddOptions, command: Command) => {
      const { weights, hub, revision, trust, path, url, upstreamModel, apiKeyEnv, contextTokens } = options;
      const file = path === undefined ? undefined : resolve(path);
      const hashes = options.sha256?.split(',');
      const sha256 = hashes?.length === 1 ? hashes[0] : hashes;
      const reference = hub === undefined ? undefined : parseHubReference(hub);
      const given = omitUndefined({
        weights,
        hub: reference ? undefined : hub,
        revision,
        sha256,
        trust,
        path: file,
        url,
        upstreamModel,
        apiKeyEnv,
        contextTokens,
      });
      if ((weights ?? hub ?? path ?? url) === undefined) {
        throw new ServiceError('invalid-request', 'The model has no source. Pass --weights, --hub, --path or --url.');
      }
      // Both throw before the file is changed.
      if (!reference) parseCatalogueAdditions({ models: { [name]: given } });
      if (file !== undefined && !isFile(file)) {
        throw new ServiceError('invalid-request', `The file ${file} does not exist.`, { param: 'path' });
      }
      const context = await open(command.optsWithGlobals());
      if (weights !== undefined) context.catalogue.weights(weights);
      const value = reference ? { ...(await resolveFields(reference, context, revision)), ...given } : given;
      parseCatalogueAdditions({ models: { [name]: value } });
      await context.addToConfig('models', name, value);
      const isServerRunning = await context.reloadServer();
      stdout.write(`${name} added; ${isServerRunning ? 'the running server reloads it' : 'no server is running'}\n`);
      if ((weights ?? hub) !== undefined) stdout.write(`Download its weights with: parley models pull ${name}\n`);
    });

  async function resolveFields(reference: HubReference, { hub, served }: ModelsCommandContext, revision?: string) {
    const resources = await machine();
    const fits = (sizeBytes: number): boolean => fitsMachine(sizeBytes, resources, served);
    const resolved = await resolveHubReference(reference, { hub, fits, revision });
    stderr.write(`${describeModelFile(resolved)}\n`);
    return resolved.fields;
  }
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

const omitUndefined = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
