import { Command } from 'commander';
import { getWeightsId, type ModelEntry } from '../catalogue/model.ts';
import type { Abilities } from '../core/abilities.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import { createAddCommand } from './add-command.ts';
import { describeRunner, describeWeights, type WeightsDescription } from './describe-weights.ts';
import { findWeights, hasWeightsName } from './find-weights.ts';
import { formatJsonLine } from './format-json-line.ts';
import { formatTable } from './format-table.ts';
import type { ModelsCommandDeps } from './models-command-deps.ts';
import { createPullCommand } from './pull-command.ts';
import { createRecommendCommand } from './recommend-command.ts';
import { createSearchCommand } from './search-command.ts';

/**
 * Creates `parley models`. With `--json`, subcommands that list or show print one value on standard output only.
 * Subcommands that change something print plain lines; `pull` prints the path of each file.
 */
export function createModelsCommand(deps: ModelsCommandDeps): Command {
  return new Command('models')
    .description('show, search, download, remove and add models')
    .addCommand(createListCommand(deps))
    .addCommand(createShowCommand(deps))
    .addCommand(createSearchCommand(deps))
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
      const states = new Map(sets.map((each) => [each.id, formatAvailability(each)]));
      stdout.write(
        formatTable([
          ['MODEL', 'RUNNER', 'DOWNLOADED', 'CONTEXT', 'INTERFACES'],
          ...models.map((entry) => [
            entry.name,
            describeRunner(entry),
            states.get(getWeightsId(entry) ?? '') ?? '-',
            entry.contextTokens > 0 ? String(entry.contextTokens) : '-',
            entry.interfaces.join(' '),
          ]),
        ]),
      );
      stdout.write('\n');
      stdout.write(
        formatTable([
          ['WEIGHTS', 'SIZE', 'DOWNLOADED', 'LICENCE'],
          ...sets.map((each) => [
            each.id,
            each.sizeBytes === null ? '-' : formatBytes(each.sizeBytes),
            formatAvailability(each),
            each.licence,
          ]),
        ]),
      );
    });
}

function createShowCommand({ open, stdout }: ModelsCommandDeps): Command {
  return new Command('show')
    .description('show one model with its weights, licence and abilities')
    .argument('<model>', 'name or alias, or weights')
    .option('--json', 'print one JSON object')
    .action(async (name: string, { json }: JsonOption, command: Command) => {
      const { catalogue, weights: store, queryServers, detectToolCalls } = await open(command.optsWithGlobals());
      const found = catalogue.find(name);
      // Weights of this name are meant rather than the model of an alias that matches.
      if (!found || (found.name !== name && hasWeightsName(name, catalogue))) {
        const weights = await describeWeights(findWeights(name, catalogue), store);
        if (json) return void stdout.write(formatJsonLine({ weights }));
        const lines = [
          ['weights', name],
          ...listWeightsLines(weights),
          ['use', `parley models add NAME --weights ${name}`],
        ];
        if (found) lines.push(['requests', `for ${name} run ${found.name} (an alias)`]);
        return void stdout.write(formatTable(lines));
      }
      const { entry: queried, isContextKnown, problem } = await queryServers(found);
      const file = getWeightsId(queried);
      const weights = file === undefined ? undefined : await describeWeights(catalogue.weights(file), store);
      const toolCalls = queried.abilities.toolCalls ?? (await detectToolCalls(queried, weights?.path ?? undefined));
      const entry = { ...queried, abilities: { ...queried.abilities, ...omitNullish({ toolCalls }) } };
      if (json) return void stdout.write(formatJsonLine({ ...encodeEntry(entry), weights: weights ?? null }));
      const { toolCalls: _, ...others } = entry.abilities;
      const abilities = Object.entries(others).filter(([, value]) => value !== false);
      const lines: [string, string][] = [
        ['model', entry.name === name ? name : `${entry.name} (alias ${name})`],
        ['description', entry.description],
        ['runner', describeRunner(entry)],
        ['interfaces', entry.interfaces.join(', ')],
        ['regions', entry.regions?.join(', ') ?? 'all'],
        ['context', isContextKnown ? `${entry.contextTokens} tokens` : describeUnknownContext(entry)],
        [
          'abilities',
          abilities.map(([ability, value]) => (value === true ? ability : `${ability} (${value})`)).join(', '),
        ],
      ];
      if (toolCalls && entry.abilities.tools) lines.push(['tool calls', TOOL_CALLS[toolCalls]]);
      if (problem !== undefined) lines.push(['problem', problem]);
      if (weights) lines.push(...listWeightsLines(weights));
      stdout.write(formatTable(lines));
    });
}

const describeUnknownContext = ({ runner }: ModelEntry): string =>
  runner.type === 'program'
    ? 'chosen by the program when it starts, by model and memory'
    : 'unknown: the server does not report it';

const TOOL_CALLS: Record<NonNullable<Abilities['toolCalls']>, string> = {
  native: 'in the format of the chat template',
  described: 'in a format that Parley describes: the chat template has no tools',
  unknown:
    'may arrive as text: the chat template writes them in a format that Parley cannot read (x-parley-ignored: tools(unknown_format))',
};

function listWeightsLines(weights: WeightsDescription): [label: string, value: string][] {
  const { id, licence, path, problem, sources, sha256, verified } = weights;
  const hashes = [sha256 ?? []].flat().join(' ');
  return [
    ['licence', licence],
    ['file', path ?? (problem === null ? 'not downloaded' : 'refused')],
    ...(problem === null
      ? []
      : ([['problem', `${problem}; run: parley models pull ${id}`]] satisfies [string, string][])),
    ...sources.map((source): [string, string] => ['source', source]),
    ...(hashes === '' ? [] : ([['sha256', `${hashes} (verified: ${verified})`]] satisfies [string, string][])),
  ];
}

function createRemoveCommand({ open, stdout }: ModelsCommandDeps): Command {
  return new Command('rm')
    .description('delete downloaded weights; files outside the models folder are never touched')
    .argument('<name>', 'model or weights')
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

function formatAvailability({ path, problem }: WeightsDescription): string {
  if (path !== null) return 'yes';
  return problem === null ? 'no' : 'damaged';
}

/** Encodes an entry for `--json`. Scripts read the runner as `runs`. */
const encodeEntry = ({ runner, ...entry }: ModelEntry) => ({ ...entry, runs: runner });
