import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { getWeightsId, type Catalogue, type ModelEntry } from '../catalogue/model.ts';
import type { MachineResources } from '../catalogue/recommend.ts';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { ServiceError } from '../core/error.ts';
import type { Weights } from '../core/weights.ts';
import { systemClock } from '../lib/clock.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import { createProgressPrinter, type ProgressStream } from '../weights/progress-printer.ts';
import { describeFolder, describeSource } from '../weights/weights-files.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import type { RuntimeStore } from '../weights/runtime/runtime-store.ts';
import { formatJsonLine } from './format-json-line.ts';
import { createRecommendCommand } from './recommend-command.ts';
import { formatTable } from './format-table.ts';
import { runUntilInterrupted } from './run-until-interrupted.ts';

export interface ModelsCommandContext {
  readonly catalogue: Catalogue;
  readonly weights: WeightsStore;
  /** Runtimes of weights that consist of a folder. */
  readonly runtimes: Pick<RuntimeStore, 'locate'>;
  /** Adds `section: { key: value }` to the configuration file. */
  addToConfig(section: 'models', key: string, value: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Makes a running server read its configuration again. Returns false if none is running. */
  reloadServer(): boolean | Promise<boolean>;
}

export interface ModelsCommandDeps {
  /** @param flags Options of the command and its parent commands, by name. */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<ModelsCommandContext>;
  readonly stdout: { write(text: string): unknown };
  /** Receives progress. Standard output contains results only. */
  readonly stderr: ProgressStream;
  readonly machine?: () => MachineResources;
}

/**
 * Creates `parley models`. With `--json`, subcommands that list or show print one value on standard output only.
 * Subcommands that change something print plain lines; `pull` prints the path of each file.
 */
export function createModelsCommand(deps: ModelsCommandDeps): Command {
  return new Command('models')
    .description('show, download, remove and add models')
    .addCommand(createListCommand(deps))
    .addCommand(createShowCommand(deps))
    .addCommand(createPullCommand(deps))
    .addCommand(createRemoveCommand(deps))
    .addCommand(createPruneCommand(deps))
    .addCommand(createRecommendCommand(deps))
    .addCommand(createAddCommand(deps));
}

interface JsonOption {
  readonly json?: true;
}

function createListCommand({ open, stdout }: ModelsCommandDeps): Command {
  return new Command('list')
    .description('list models, their runners and whether their weights are downloaded')
    .option('--json', 'print one JSON object with models and weights')
    .action(async ({ json }: JsonOption, command: Command) => {
      const { catalogue, weights: store } = await open(command.optsWithGlobals());
      const sets = await Promise.all(catalogue.listWeights().map((weights) => describeWeights(weights, store)));
      const models = catalogue.list();
      if (json) return void stdout.write(formatJsonLine({ models: models.map(encodeEntry), weights: sets }));
      const paths = new Map(sets.map(({ id, path }) => [id, path]));
      stdout.write(
        formatTable([
          ['MODEL', 'RUNNER', 'DOWNLOADED', 'CONTEXT', 'INTERFACES'],
          ...models.map((entry) => [
            entry.name,
            describeRunner(entry.runner),
            formatAvailability(getWeightsId(entry), paths),
            entry.contextTokens > 0 ? String(entry.contextTokens) : '-',
            entry.interfaces.join(' '),
          ]),
        ]),
      );
      stdout.write('\n');
      stdout.write(
        formatTable([
          ['WEIGHTS', 'SIZE', 'DOWNLOADED', 'LICENCE'],
          ...sets.map(({ id, sizeBytes, path, licence }) => [
            id,
            sizeBytes === null ? '-' : formatBytes(sizeBytes),
            path === null ? 'no' : 'yes',
            licence,
          ]),
        ]),
      );
    });
}

function createShowCommand({ open, stdout }: ModelsCommandDeps): Command {
  return new Command('show')
    .description('show one model with its weights, licence and abilities')
    .argument('<model>', 'name or alias')
    .option('--json', 'print one JSON object')
    .action(async (name: string, { json }: JsonOption, command: Command) => {
      const { catalogue, weights: store } = await open(command.optsWithGlobals());
      const entry = catalogue.find(name);
      if (!entry) throw createUnknownNameError(name, catalogue);
      const file = getWeightsId(entry);
      const weights = file === undefined ? undefined : await describeWeights(catalogue.weights(file), store);
      if (json) return void stdout.write(formatJsonLine({ ...encodeEntry(entry), weights: weights ?? null }));
      const abilities = Object.entries(entry.abilities).filter(([, value]) => value !== false);
      const lines: [string, string][] = [
        ['model', entry.name === name ? name : `${entry.name} (alias ${name})`],
        ['description', entry.description],
        ['runner', describeRunner(entry.runner)],
        ['interfaces', entry.interfaces.join(', ')],
        ['regions', entry.regions?.join(', ') ?? 'all'],
        ['context', `${entry.contextTokens} tokens`],
        [
          'abilities',
          abilities.map(([ability, value]) => (value === true ? ability : `${ability} (${value})`)).join(', '),
        ],
      ];
      if (weights) {
        lines.push(['licence', weights.licence], ['file', weights.path ?? 'not downloaded']);
        for (const source of weights.sources) lines.push(['source', source]);
        if (weights.sha256 !== null) lines.push(['sha256', `${weights.sha256} (verified: ${weights.verified})`]);
      }
      stdout.write(formatTable(lines));
    });
}

const INTERRUPTED_MESSAGE = 'Interrupted. Run the command again to continue the download.';

function createPullCommand({ open, stdout, stderr }: ModelsCommandDeps): Command {
  return new Command('pull')
    .description('download weights; continues an interrupted download')
    .argument('<names...>', 'models, aliases or weights')
    .option('--trust', 'also download a file of the hub whose SHA-256 nobody states')
    .action(async (names: readonly string[], { trust }: { readonly trust?: true }, command: Command) => {
      const { catalogue, weights: store, runtimes } = await open(command.optsWithGlobals());
      const sets = new Map(names.map((name) => findWeights(name, catalogue)).map((weights) => [weights.id, weights]));
      for (const weights of sets.values()) {
        stderr.write(`${weights.id}: licence ${weights.licence}\n`);
        const printer = createProgressPrinter(stderr, systemClock);
        const pull = runUntilInterrupted(INTERRUPTED_MESSAGE, (signal) =>
          store.pull(weights, { signal, trust, onProgress: printer.report }),
        );
        stdout.write(`${await pull.finally(() => printer.finishLine())}\n`);
        await warnUnlessPinned(weights, store, stderr);
      }
      const isForRuntime = [...sets.values()].some(({ folder }) => folder !== undefined);
      if (isForRuntime && (await runtimes.locate()) === undefined)
        stderr.write('These weights need the speech engine, which is not installed. Run: parley engines add speech\n');
    });
}

/** Warns about a file of the hub whose hash the catalogue does not state, with the hash to pin. */
async function warnUnlessPinned(weights: Weights, store: WeightsStore, stderr: ProgressStream): Promise<void> {
  const { sha256, verified } = await describeWeights(weights, store);
  if (sha256 === null || verified === 'catalogue') return;
  const state =
    verified === 'none' ? 'NOT VERIFIED: nobody states its hash' : 'verified with the hash that its source announced';
  stderr.write(`WARNING: ${weights.id} is ${state}.\nPin this content in the configuration: sha256: ${sha256}\n`);
}

function createRemoveCommand({ open, stdout }: ModelsCommandDeps): Command {
  return new Command('rm')
    .description('delete downloaded weights; files outside the models folder are never touched')
    .argument('<name>', 'model, alias or weights')
    .action(async (name: string, _options: unknown, command: Command) => {
      const { catalogue, weights: store } = await open(command.optsWithGlobals());
      const { id } = findWeights(name, catalogue);
      const users = catalogue.list().filter((entry) => getWeightsId(entry) === id);
      const isRemoved = await store.remove(id);
      stdout.write(isRemoved ? `${id} deleted\n` : `${id} is not in the models folder\n`);
      if (isRemoved && users.length > 0) {
        stdout.write(
          `These models need the weights and will download them again: ${users.map((user) => user.name).join(', ')}\n`,
        );
      }
    });
}

function createPruneCommand({ open, stdout }: ModelsCommandDeps): Command {
  return new Command('prune')
    .description('delete weights that no model uses and the files of interrupted downloads')
    .option('--dry-run', 'only print what would be deleted')
    .action(async ({ dryRun }: { readonly dryRun?: true }, command: Command) => {
      const { catalogue, weights: store } = await open(command.optsWithGlobals());
      const keep = catalogue.listWeights();
      const files = dryRun ? await store.listStrayFiles(keep) : await store.prune(keep);
      for (const { path, sizeBytes, reason } of files) stdout.write(`${path}  ${formatBytes(sizeBytes)}  ${reason}\n`);
      const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      stdout.write(`${formatBytes(bytes)} ${dryRun ? 'would be freed' : 'freed'}\n`);
    });
}

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

function createAddCommand({ open, stdout }: ModelsCommandDeps): Command {
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

async function describeWeights(weights: Weights, store: WeightsStore) {
  const path = await store.locate(weights);
  const record = (await store.list()).find((each) => each.id === weights.id && each.path === path);
  return {
    id: weights.id,
    sizeBytes: record?.sizeBytes ?? weights.sizeBytes ?? null,
    licence: weights.licence,
    path: path ?? null,
    sha256: record?.sha256 ?? null,
    verified: record?.verified ?? null,
    sources: weights.folder ? [describeFolder(weights.folder)] : weights.sources.map(describeSource),
  };
}

function findWeights(name: string, catalogue: Catalogue): Weights {
  const entry = catalogue.find(name);
  const weightsId = entry && getWeightsId(entry);
  if (weightsId !== undefined) return catalogue.weights(weightsId);
  if (entry) {
    const reason = entry.runner.type === 'none' ? entry.runner.reason : describeRunner(entry.runner);
    throw new ServiceError('invalid-request', `${name} has no weights: ${reason.replace(/\.$/, '')}.`);
  }
  const weights = catalogue.listWeights().find(({ id }) => id === name);
  if (!weights) throw createUnknownNameError(name, catalogue);
  return weights;
}

const createUnknownNameError = (name: string, catalogue: Catalogue): ServiceError => {
  const names = [...catalogue.list().map((entry) => entry.name), ...catalogue.listWeights().map(({ id }) => id)];
  return new ServiceError('not-found', `No model or weights have the name ${name}. Available: ${names.join(', ')}.`);
};

const formatAvailability = (id: string | undefined, paths: ReadonlyMap<string, string | null>): string =>
  id === undefined ? '-' : paths.get(id) ? 'yes' : 'no';

/** Encodes an entry for `--json`. Scripts read the runner as `runs`. */
const encodeEntry = ({ runner, ...entry }: ModelEntry) => ({ ...entry, runs: runner });

function describeRunner(runner: ModelEntry['runner']): string {
  switch (runner.type) {
    case 'weights':
    case 'onnx':
      return runner.weights;
    case 'upstream':
      return `${runner.remote.model} at ${runner.addresses.join(', ')}`;
    case 'program':
      return `${runner.weights ?? runner.remote.model} in ${[runner.program.command].flat().join(' ')}`;
    case 'none':
      return `none: ${runner.reason}`;
  }
}

function parseTokens(text: string): number {
  const tokens = Number(text);
  if (Number.isSafeInteger(tokens) && tokens > 0) return tokens;
  throw new InvalidArgumentError('must be a positive integer');
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

const omitUndefined = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
