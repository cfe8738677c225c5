import { omitNullish } from '../lib/omit-nullish.ts';
import type { Weights, WeightsConversion, WeightsFolder, WeightsTask } from '../core/weights.ts';
import type { Abilities, Alias, ModelEntry, ModelInterface } from './model.ts';
import { listAdapters } from './list-adapters.ts';
import { REMOTE_QUALIFIERS } from './remote-schema.ts';
import { resolveRunner, type AdapterSelection, type NamedWeights } from './resolve-runner.ts';
import {
  RUNNER_KEYS,
  WEIGHTS_CONTEXT_TOKENS,
  type CatalogueRecord,
  type FolderRecord,
  type ModelRecord,
  type WeightsRecord,
} from './schema.ts';
import { createRecordError } from './record-error.ts';
import { createHubSource, createWeightsId, toSource } from './weights-sources.ts';

/** Input of `createCatalogue`. */
export interface CatalogueParts {
  readonly entries: readonly ModelEntry[];
  readonly weights: readonly Weights[];
  readonly aliases: readonly Alias[];
}

/** Assumed context length of a server until it reports its own. */
const SERVER_CONTEXT_TOKENS = 8_192;

const CHAT_INTERFACES: readonly ModelInterface[] = ['chat', 'messages', 'responses', 'native'];

/**
 * Abilities of shipped weights that are not declared. For other models they are unknown until the engine reports them.
 */
const NO_ABILITIES: Abilities = { tools: false, vision: false, audio: false, logprobs: false, fillInTheMiddle: false };

/**
 * Merges the operator's records into the shipped ones and fills in defaults.
 *
 * A model record changes the fields it contains and keeps the others. If it names another runner (weights, hub, path,
 * url, command, none), the fields of the old runner are dropped. Weights records are replaced as a whole. Aliases of
 * later layers come first.
 * @throws ServiceError `invalid-request` with the path of an unknown reference or of a value out of range.
 */
export function expandCatalogue(...layers: readonly CatalogueRecord[]): CatalogueParts {
  const records = new Map<string, ModelRecord>();
  const weightsRecords = new Map<string, string | WeightsRecord>();
  const aliases = new Map<string, string>();
  for (const layer of layers) {
    for (const [name, record] of Object.entries(layer.models))
      records.set(name, overlayRecord(records.get(name), record));
    for (const [id, record] of Object.entries(layer.weights)) weightsRecords.set(id, record);
  }
  for (const layer of layers.toReversed()) {
    for (const [pattern, model] of Object.entries(layer.aliases)) {
      if (!aliases.has(pattern)) aliases.set(pattern, model);
    }
  }
  const named = new Map<string, NamedWeights>();
  for (const [id, record] of weightsRecords) {
    if (typeof record === 'object') named.set(id, toWeights(id, record));
  }
  const find = (path: string, id: string): NamedWeights => {
    const record = weightsRecords.get(id);
    const found = named.get(typeof record === 'string' ? record : id);
    if (found) return found;
    throw createRecordError(path, `unknown weights ${id}; available are ${[...named.keys()].join(', ')}`);
  };
  for (const [id, record] of weightsRecords) {
    if (typeof record === 'string') find(`weights.${id}`, id);
  }

  const entries: ModelEntry[] = [];
  for (const [name, record] of records) {
    const implicitWeights = createImplicitWeights(`models.${name}`, record);
    if (implicitWeights && !named.has(implicitWeights.weights.id))
      named.set(implicitWeights.weights.id, implicitWeights);
    const path = `models.${name}`;
    const weights =
      implicitWeights ?? (record.weights === undefined ? undefined : find(`${path}.weights`, record.weights));
    const adapters = listAdapters(name, record, weights);
    entries.push(toEntry(name, record, weights, { adapters }));
    for (const adapter of adapters) {
      if (records.has(adapter.name) || entries.some((entry) => entry.name === adapter.name))
        throw createRecordError(
          `${path}.adapters.${adapter.name}`,
          'is the name of another model; choose another name',
        );
      entries.push(toEntry(adapter.name, record, weights, { adapters, adapter }));
    }
  }
  const names = new Set(entries.map(({ name }) => name));
  for (const [pattern, model] of aliases) {
    if (!names.has(model)) throw createRecordError(`aliases.${pattern}`, `unknown model ${model}`);
  }
  return {
    entries,
    weights: [...named.values()].map(({ weights }) => weights),
    aliases: [...aliases].map(([pattern, model]) => ({ pattern, model })),
  };
}

function toWeights(id: string, record: WeightsRecord): NamedWeights {
  const { licence, contextTokensMax, parameters, activeParameters, cacheBytesPerToken } = record;
  const folder = record.folder && toFolder(record.folder);
  const sizeBytes = folder ? sumFileSizes(folder) : record.sizeBytes;
  const activeShare = parameters && activeParameters && activeParameters / parameters;
  const weights: Weights = {
    id,
    licence,
    contextTokensMax,
    sources: (record.sources ?? []).map((source) =>
      source.type === 'hub' ? createHubSource(`weights.${id}.sources`, source) : source,
    ),
    ...omitNullish({ sizeBytes, folder, activeShare, cacheBytesPerToken, hasTools: record.abilities.tools }),
  };
  return { weights, record };
}

function toFolder({ task, files, conversion }: FolderRecord): WeightsFolder {
  return {
    task,
    files: Object.entries(files).map(([name, { parts, ...file }]) => ({
      name,
      ...file,
      source: { type: 'packages', parts, sha256: file.sha256 },
    })),
    ...omitNullish({ conversion: conversion && toConversion(conversion) }),
  };
}

const toConversion = ({ layout, source, files }: NonNullable<FolderRecord['conversion']>): WeightsConversion => ({
  layout,
  sizeBytes: source.sizeBytes,
  source: { type: 'packages', parts: source.parts, sha256: source.sha256 },
  files: Object.entries(files).map(([name, file]) => ({ name, ...file })),
});

/** Sums up the bytes of all files that are on the disk in the end. */
const sumFileSizes = ({ files, conversion }: WeightsFolder): number =>
  [...files, ...(conversion?.files ?? [])].reduce((sum, file) => sum + file.sizeBytes, 0);

/** Creates the weights of the short forms `hub` and `path`. */
function createImplicitWeights(path: string, record: ModelRecord): NamedWeights | undefined {
  const source = toSource(path, record);
  if (!source) return undefined;
  const weights: Weights = {
    id: createWeightsId(source),
    licence: record.licence ?? 'not stated',
    contextTokensMax: Math.max(record.contextTokens ?? 0, WEIGHTS_CONTEXT_TOKENS),
    sources: [source],
  };
  return {
    weights,
    record: { family: 'template', abilities: { logprobs: true, tools: true }, repeatsCalls: false, sampling: {} },
  };
}

/** Creates the entry of a record, or of one of its adapters. */
function toEntry(
  name: string,
  record: ModelRecord,
  weights: NamedWeights | undefined,
  adapters: AdapterSelection,
): ModelEntry {
  const isKnown = record.weights !== undefined || record.none !== undefined;
  // A server that renders prompts itself uses its own template, so the abilities of the weights do not apply.
  const weightsAbilities = rendersPrompts(record)
    ? {}
    : { ...(isKnown ? NO_ABILITIES : {}), ...weights?.record.abilities };
  const { maxThinkingTokens, languages, cumulative } = record;
  const { thinking, ...abilities } = { ...weightsAbilities, ...record.abilities };
  const isContextGuessed = record.contextTokens === undefined && record.none === undefined;
  return {
    name,
    description: record.description ?? '',
    runner: resolveRunner(name, record, weights, adapters),
    contextTokens: resolveContextTokens(name, record, weights),
    ...(isContextGuessed ? { isContextGuessed } : {}),
    abilities: { ...abilities, ...omitNullish({ thinking: thinking === 'none' ? false : thinking }) },
    repeatsCalls: record.repeatsCalls ?? weights?.record.repeatsCalls ?? false,
    interfaces: resolveInterfaces(name, record, weights),
    ...(record.regions ? { regions: record.regions } : {}),
    sampling: { ...weights?.record.sampling, ...record.sampling },
    ...omitNullish({ maxThinkingTokens, languages, cumulative }),
    created: record.created ?? 0,
  };
}

/** Weights for speech or for vectors serve only one interface. @throws ServiceError for a model with another one. */
function resolveInterfaces(
  name: string,
  { interfaces }: ModelRecord,
  weights: NamedWeights | undefined,
): readonly ModelInterface[] {
  const task = weights?.weights.folder?.task;
  if (task === undefined) return interfaces ?? CHAT_INTERFACES;
  const only = TASK_INTERFACES[task];
  const unsupported = interfaces?.find((each) => each !== only);
  if (unsupported === undefined) return [only];
  throw createRecordError(
    `models.${name}.interfaces`,
    `its weights are for ${task} and support only ${only}, not ${unsupported}`,
  );
}

const TASK_INTERFACES = { speech: 'speech', vectors: 'embeddings' } as const satisfies Record<
  WeightsTask,
  ModelInterface
>;

const rendersPrompts = (record: ModelRecord): boolean => isRemote(record) && (record.input ?? 'chat') === 'chat';

const isRemote = ({ url, command }: ModelRecord): boolean => url !== undefined || command !== undefined;

function resolveContextTokens(name: string, record: ModelRecord, weights: NamedWeights | undefined): number {
  const max = weights?.weights.contextTokensMax;
  if (record.contextTokens === undefined) {
    if (record.none !== undefined) return 0;
    return isRemote(record)
      ? Math.min(max ?? SERVER_CONTEXT_TOKENS, SERVER_CONTEXT_TOKENS)
      : (max ?? WEIGHTS_CONTEXT_TOKENS);
  }
  if (max !== undefined && record.contextTokens > max) {
    throw createRecordError(`models.${name}.contextTokens`, `must be at most ${max}, got ${record.contextTokens}`);
  }
  return record.contextTokens;
}

/** Fields that are dropped when another runner is set. Fields of the model's role stay. */
const RUNNER_FIELDS: ReadonlySet<string> = new Set([
  ...RUNNER_KEYS,
  'revision',
  'sha256',
  'trust',
  'adapters',
  ...REMOTE_QUALIFIERS.map(([field]) => field),
  'family',
  'repeatsCalls',
  'licence',
  'contextTokens',
]);

function overlayRecord(base: ModelRecord | undefined, record: ModelRecord): ModelRecord {
  if (!base) return record;
  const isSameRunner = RUNNER_KEYS.every((key) => record[key] === undefined);
  const inherited = isSameRunner
    ? base
    : Object.fromEntries(Object.entries(base).filter(([field]) => !RUNNER_FIELDS.has(field)));
  return {
    ...inherited,
    ...record,
    abilities: { ...base.abilities, ...record.abilities },
    sampling: { ...base.sampling, ...record.sampling },
  };
}
