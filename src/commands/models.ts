import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { ownWeightsOf } from '../catalogue/model.ts';
import type { Catalogue, ModelEntry } from '../catalogue/model.ts';
import type { Machine } from '../catalogue/recommend.ts';
import { parseCatalogueAdditions } from '../catalogue/schema.ts';
import { ServiceError } from '../core/error.ts';
import type { Weights } from '../core/weights.ts';
import { systemClock } from '../lib/clock.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import type { ProgressStream } from '../weights/progress-printer.ts';
import { createProgressPrinter } from '../weights/progress-printer.ts';
import { describeFolder, describeSource } from '../weights/weights-files.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import type { RuntimeStore } from '../weights/runtime/runtime-store.ts';
import { asJson } from './as-json.ts';
import { recommendCommand } from './recommend.ts';
import { table } from './table.ts';
import { untilInterrupted } from './until-interrupted.ts';

export interface OpenModels {
  readonly catalogue: Catalogue;
  readonly weights: WeightsStore;
  /** What folders of weights run on. */
  readonly runtimes: Pick<RuntimeStore, 'locate'>;
  /** Writes `section: { key: value }` into the configuration file. */
  addToConfig(section: 'models', key: string, value: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Tells a running server to read its configuration again; false when none is running. */
  reloadServer(): boolean | Promise<boolean>;
}

export interface ModelsCommandNeeds {
  /** @param flags Options of the command and of those above it, by name. */
  readonly open: (flags: Readonly<Record<string, unknown>>) => Promise<OpenModels>;
  readonly stdout: { write(text: string): unknown };
  /** Progress goes here: standard output holds results only. */
  readonly stderr: ProgressStream;
  readonly machine?: () => Machine;
}

/**
 * `parley models`. Of what lists or describes, scripts read `--json`: one value on standard output and nothing else.
 * What changes something says so in plain lines; `pull` prints a path for each file.
 */
export function modelsCommand(needs: ModelsCommandNeeds): Command {
  return new Command('models')
    .description('see, download, remove and add models')
    .addCommand(listCommand(needs))
    .addCommand(showCommand(needs))
    .addCommand(pullCommand(needs))
    .addCommand(rmCommand(needs))
    .addCommand(pruneCommand(needs))
    .addCommand(recommendCommand(needs))
    .addCommand(addCommand(needs));
}

interface JsonOption {
  readonly json?: true;
}

function listCommand({ open, stdout }: ModelsCommandNeeds): Command {
  return new Command('list')
    .description('list the models, what runs them, and whether it is here')
    .option('--json', 'one JSON object with models and weights')
    .action(async ({ json }: JsonOption, command: Command) => {
      const { catalogue, weights: store } = await open(command.optsWithGlobals());
      const sets = await Promise.all(catalogue.listWeights().map((weights) => describeWeights(weights, store)));
      const models = catalogue.list();
      if (json) return void stdout.write(asJson({ models, weights: sets }));
      const pathOf = new Map(sets.map(({ id, path }) => [id, path]));
      stdout.write(
        table([
          ['MODEL', 'RUNS ON', 'HERE', 'CONTEXT', 'INTERFACES'],
          ...models.map((entry) => [
            entry.name,
            describeRunner(entry.runs),
            isHere(ownWeightsOf(entry), pathOf),
            entry.contextTokens > 0 ? String(entry.contextTokens) : '-',
            entry.interfaces.join(' '),
          ]),
        ]),
      );
      stdout.write('\n');
      stdout.write(
        table([
          ['WEIGHTS', 'SIZE', 'HERE', 'LICENCE'],
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

function showCommand({ open, stdout }: ModelsCommandNeeds): Command {
  return new Command('show')
    .description('show one model with its weights, licence and abilities')
    .argument('<model>', 'name or alias')
    .option('--json', 'one JSON object')
    .action(async (name: string, { json }: JsonOption, command: Command) => {
      const { catalogue, weights: store } = await open(command.optsWithGlobals());
      const entry = catalogue.find(name);
      if (!entry) throw unknownName(name, catalogue);
      const file = ownWeightsOf(entry);
      const weights = file === undefined ? undefined : await describeWeights(catalogue.weights(file), store);
      if (json) return void stdout.write(asJson({ ...entry, weights: weights ?? null }));
      const can = Object.entries(entry.abilities).filter(([, value]) => value !== false);
      const lines: [string, string][] = [
        ['model', entry.name === name ? name : `${entry.name} (asked as ${name})`],
        ['description', entry.description],
        ['runs on', describeRunner(entry.runs)],
        ['interfaces', entry.interfaces.join(', ')],
        ['regions', entry.regions?.join(', ') ?? 'all'],
        ['context', `${entry.contextTokens} tokens`],
        ['abilities', can.map(([ability, value]) => (value === true ? ability : `${ability} (${value})`)).join(', ')],
      ];
      if (weights) {
        lines.push(['licence', weights.licence], ['file', weights.path ?? 'not here']);
        for (const source of weights.sources) lines.push(['source', source]);
        if (weights.sha256 !== null) lines.push(['sha256', `${weights.sha256} (verified: ${weights.verified})`]);
      }
      stdout.write(table(lines));
    });
}

const INTERRUPTED = 'Interrupted. The next pull goes on where this one stopped.';

function pullCommand({ open, stdout, stderr }: ModelsCommandNeeds): Command {
  return new Command('pull')
    .description('download weights; goes on where an earlier try stopped')
    .argument('<names...>', 'models, aliases or weights')
    .action(async (names: readonly string[], _options: unknown, command: Command) => {
      const { catalogue, weights: store, runtimes } = await open(command.optsWithGlobals());
      const sets = new Map(names.map((name) => weightsOf(name, catalogue)).map((weights) => [weights.id, weights]));
      for (const weights of sets.values()) {
        stderr.write(`${weights.id}: licence ${weights.licence}\n`);
        const printer = createProgressPrinter(stderr, systemClock);
        const pull = untilInterrupted(INTERRUPTED, (signal) =>
          store.pull(weights, { signal, onProgress: printer.report }),
        );
        stdout.write(`${await pull.finally(() => printer.end())}\n`);
      }
      const isForRuntime = [...sets.values()].some(({ folder }) => folder !== undefined);
      if (isForRuntime && (await runtimes.locate()) === undefined)
        stderr.write('They run on the speech engine, which is not installed yet: parley engines add speech\n');
    });
}

function rmCommand({ open, stdout }: ModelsCommandNeeds): Command {
  return new Command('rm')
    .description('delete downloaded weights; files outside the models folder are never touched')
    .argument('<name>', 'model, alias or weights')
    .action(async (name: string, _options: unknown, command: Command) => {
      const { catalogue, weights: store } = await open(command.optsWithGlobals());
      const { id } = weightsOf(name, catalogue);
      const users = catalogue.list().filter((entry) => ownWeightsOf(entry) === id);
      const isGone = await store.remove(id);
      stdout.write(isGone ? `${id} is deleted\n` : `${id}: nothing in the models folder\n`);
      if (isGone && users.length > 0) {
        stdout.write(`These models need it and download it again: ${users.map((user) => user.name).join(', ')}\n`);
      }
    });
}

function pruneCommand({ open, stdout }: ModelsCommandNeeds): Command {
  return new Command('prune')
    .description('delete weights that the catalogue does not name, and what interrupted downloads left')
    .option('--dry-run', 'only say what would be deleted')
    .action(async ({ dryRun }: { readonly dryRun?: true }, command: Command) => {
      const { catalogue, weights: store } = await open(command.optsWithGlobals());
      const keep = catalogue.listWeights();
      const files = dryRun ? await store.stray(keep) : await store.prune(keep);
      for (const { path, sizeBytes, why } of files) stdout.write(`${path}  ${formatBytes(sizeBytes)}  ${why}\n`);
      const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      stdout.write(`${formatBytes(bytes)} ${dryRun ? 'would be' : 'are'} free again\n`);
    });
}

interface AddOptions {
  readonly hub?: string;
  readonly path?: string;
  readonly url?: string;
  readonly upstreamModel?: string;
  readonly apiKeyEnv?: string;
  readonly contextTokens?: number;
}

function addCommand({ open, stdout }: ModelsCommandNeeds): Command {
  return new Command('add')
    .description('add a model to the configuration file and tell a running server')
    .argument('<name>', 'the name callers will use')
    .addOption(
      new Option('--hub <reference>', 'a file of the model hub: owner/repository/file.gguf').conflicts(['path', 'url']),
    )
    .addOption(new Option('--path <file>', 'a model file on this machine').conflicts('url'))
    .option('--url <address>', 'a compatible server, e.g. http://127.0.0.1:9000/v1')
    .option('--upstream-model <name>', 'with --url: the name there (default: the same)')
    .option('--api-key-env <variable>', 'with --url: the environment variable that holds its key')
    .option('--context-tokens <number>', 'tokens of prompt and answer together', parseTokens)
    .action(async (name: string, options: AddOptions, command: Command) => {
      const { hub, path, url, upstreamModel, apiKeyEnv, contextTokens } = options;
      const file = path === undefined ? undefined : resolve(path);
      const value = withoutAbsent({
        hub,
        path: file,
        url,
        upstreamModel,
        apiKeyEnv,
        contextTokens,
      });
      if ((hub ?? path ?? url) === undefined) {
        throw new ServiceError('invalid-request', 'Say what runs the model: --hub, --path or --url.');
      }
      parseCatalogueAdditions({ models: { [name]: value } }); // refused here, it does not get into the file
      if (file !== undefined && !isFile(file)) {
        throw new ServiceError('invalid-request', `There is no file ${file}.`, { param: 'path' });
      }
      const opened = await open(command.optsWithGlobals());
      await opened.addToConfig('models', name, value);
      const isTold = await opened.reloadServer();
      stdout.write(`${name} is added; ${isTold ? 'the running server has been told' : 'no server is running'}\n`);
      if (hub !== undefined) stdout.write(`Download its weights with: parley models pull ${name}\n`);
    });
}

async function describeWeights(weights: Weights, store: WeightsStore) {
  const path = await store.locate(weights);
  const record = (await store.list()).find((one) => one.id === weights.id && one.path === path);
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

function weightsOf(name: string, catalogue: Catalogue): Weights {
  const entry = catalogue.find(name);
  const own = entry && ownWeightsOf(entry);
  if (own !== undefined) return catalogue.weights(own);
  if (entry) {
    const why = entry.runs.type === 'none' ? entry.runs.reason : describeRunner(entry.runs);
    throw new ServiceError('invalid-request', `${name} has no weights: ${why.replace(/\.$/, '')}.`);
  }
  const weights = catalogue.listWeights().find(({ id }) => id === name);
  if (!weights) throw unknownName(name, catalogue);
  return weights;
}

const unknownName = (name: string, catalogue: Catalogue): ServiceError => {
  const names = [...catalogue.list().map((entry) => entry.name), ...catalogue.listWeights().map(({ id }) => id)];
  return new ServiceError('not-found', `There is nothing named ${name}. There are: ${names.join(', ')}.`);
};

const isHere = (id: string | undefined, pathOf: ReadonlyMap<string, string | null>): string =>
  id === undefined ? '-' : pathOf.get(id) ? 'yes' : 'no';

function describeRunner(runs: ModelEntry['runs']): string {
  switch (runs.type) {
    case 'weights':
    case 'onnx':
      return runs.weights;
    case 'upstream':
      return `${runs.remote.model} at ${runs.addresses.join(', ')}`;
    case 'program':
      return `${runs.weights ?? runs.remote.model} in ${[runs.program.command].flat().join(' ')}`;
    case 'none':
      return `nothing: ${runs.reason}`;
  }
}

function parseTokens(text: string): number {
  const tokens = Number(text);
  if (Number.isSafeInteger(tokens) && tokens > 0) return tokens;
  throw new InvalidArgumentError('must be a whole number above 0');
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

const withoutAbsent = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
