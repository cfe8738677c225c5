import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { present } from '../lib/present.ts';
import type { Weights, WeightsConversion, WeightsFolder, WeightsSource, WeightsTask } from '../core/weights.ts';
import type { Abilities, Alias, ModelEntry, ModelInterface, RemoteOptions } from './model.ts';
import { REMOTE_QUALIFIERS } from './remote-schema.ts';
import type { CatalogueRecord, FolderRecord, ModelRecord, WeightsRecord } from './schema.ts';
import { RUNNER_KEYS } from './schema.ts';

/** What `createCatalogue` takes. */
export interface CatalogueParts {
  readonly entries: readonly ModelEntry[];
  readonly weights: readonly Weights[];
  readonly aliases: readonly Alias[];
}

/** Ours: the context of a model that does not state one, where its weights allow it; 4 streams of it fit 1 GB. */
const CONTEXT_TOKENS_DEFAULT = 8192;

const CHAT_INTERFACES: readonly ModelInterface[] = ['chat', 'messages', 'responses', 'native'];

/** What is not stated of weights that we ship, they cannot do. Of any other model it is unknown until its engine tells. */
const NO_ABILITIES: Abilities = { tools: false, vision: false, audio: false, logprobs: false, fillInTheMiddle: false };

/**
 * Lays the operator's records over the shipped ones and fills in what they leave open.
 *
 * A model of the same name changes the fields it states and keeps the others; naming another runner (weights, hub,
 * path, url, none) drops what belonged to the old one. Weights are replaced whole. Later layers' aliases come first.
 * @throws ServiceError `invalid-request` that names the path of a reference to nothing or of a value out of range.
 */
export function expandCatalogue(...layers: readonly CatalogueRecord[]): CatalogueParts {
  const records = new Map<string, ModelRecord>();
  const weightsRecords = new Map<string, string | WeightsRecord>();
  const aliases = new Map<string, string>();
  for (const layer of layers) {
    for (const [name, record] of Object.entries(layer.models)) records.set(name, overlay(records.get(name), record));
    for (const [id, record] of Object.entries(layer.weights)) weightsRecords.set(id, record);
  }
  for (const layer of layers.toReversed()) {
    for (const [pattern, model] of Object.entries(layer.aliases)) {
      if (!aliases.has(pattern)) aliases.set(pattern, model);
    }
  }
  for (const [pattern, model] of aliases) {
    if (!records.has(model)) throw fault(`aliases.${pattern}`, `there is no model named ${model}`);
  }

  const named = new Map<string, NamedWeights>();
  for (const [id, record] of weightsRecords) {
    if (typeof record === 'object') named.set(id, toWeights(id, record));
  }
  const find = (path: string, id: string): NamedWeights => {
    const record = weightsRecords.get(id);
    const found = named.get(typeof record === 'string' ? record : id);
    if (found) return found;
    throw fault(path, `there are no weights named ${id}; there are ${[...named.keys()].join(', ')}`);
  };
  for (const [id, record] of weightsRecords) {
    if (typeof record === 'string') find(`weights.${id}`, id);
  }

  const entries: ModelEntry[] = [];
  for (const [name, record] of records) {
    const own = ownWeights(record);
    if (own && !named.has(own.weights.id)) named.set(own.weights.id, own);
    const path = `models.${name}`;
    const weights = own ?? (record.weights === undefined ? undefined : find(`${path}.weights`, record.weights));
    entries.push(toEntry(name, record, weights));
  }
  return {
    entries,
    weights: [...named.values()].map(({ weights }) => weights),
    aliases: [...aliases].map(([pattern, model]) => ({ pattern, model })),
  };
}

/** Weights with what the file knows of them and a model takes over. */
interface NamedWeights {
  readonly weights: Weights;
  readonly record: Pick<WeightsRecord, 'family' | 'abilities' | 'repeatsCalls' | 'sampling'>;
}

function toWeights(id: string, record: WeightsRecord): NamedWeights {
  const { licence, contextTokensMax, sources = [] } = record;
  const folder = record.folder && toFolder(record.folder);
  const sizeBytes = folder ? sizeOf(folder) : record.sizeBytes;
  const weights = { id, licence, contextTokensMax, sources, ...present({ sizeBytes, folder }) };
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
    ...(conversion === undefined ? {} : { conversion: toConversion(conversion) }),
  };
}

const toConversion = ({ layout, source, files }: NonNullable<FolderRecord['conversion']>): WeightsConversion => ({
  layout,
  sizeBytes: source.sizeBytes,
  source: { type: 'packages', parts: source.parts, sha256: source.sha256 },
  files: Object.entries(files).map(([name, file]) => ({ name, ...file })),
});

/** On disk, when all is done. */
const sizeOf = ({ files, conversion }: WeightsFolder): number =>
  [...files, ...(conversion?.files ?? [])].reduce((sum, file) => sum + file.sizeBytes, 0);

/** The weights that a short form (`hub`, `path`) brings along. */
function ownWeights(record: ModelRecord): NamedWeights | undefined {
  const source = sourceOf(record);
  if (!source) return undefined;
  const weights: Weights = {
    id: idOf(source),
    licence: record.licence ?? 'not stated',
    contextTokensMax: Math.max(record.contextTokens ?? 0, CONTEXT_TOKENS_DEFAULT),
    sources: [source],
  };
  return {
    weights,
    record: { family: 'template', abilities: { logprobs: true, tools: true }, repeatsCalls: false, sampling: {} },
  };
}

function sourceOf({ hub, revision, sha256, path }: ModelRecord): WeightsSource | undefined {
  if (hub) return { type: 'hub', ...hub, revision: revision ?? 'main', ...(sha256 ? { sha256 } : {}) };
  return path === undefined ? undefined : { type: 'file', path };
}

/** The same file under two models' names is one set of weights; files of one name from two places are two. */
function idOf(source: WeightsSource): string {
  const [file, origin] =
    source.type === 'hub'
      ? [source.file, `${source.repository}/${source.file}@${source.revision}`]
      : [source.type === 'file' ? source.path : '', JSON.stringify(source)];
  const mark = createHash('sha256').update(origin).digest('hex').slice(0, 8);
  const stem = basename(file)
    .replace(/\.gguf$/i, '')
    .replace(/[^\w.-]/g, '_');
  return `${stem}-${mark}`;
}

function toEntry(name: string, record: ModelRecord, weights: NamedWeights | undefined): ModelEntry {
  const isKnown = record.weights !== undefined || record.none !== undefined;
  // A server that renders by itself has a template of its own: what we know of the weights says nothing of it.
  const ours = rendersItself(record) ? {} : { ...(isKnown ? NO_ABILITIES : {}), ...weights?.record.abilities };
  const { thinking, ...abilities } = { ...ours, ...record.abilities };
  const isContextGuessed = record.contextTokens === undefined && runsElsewhere(record);
  return {
    name,
    description: record.description ?? '',
    runs: runnerOf(name, record, weights),
    contextTokens: contextTokensOf(name, record, weights),
    ...(isContextGuessed ? { isContextGuessed } : {}),
    abilities: {
      ...abilities,
      ...(thinking === undefined ? {} : { thinking: thinking === 'none' ? false : thinking }),
    },
    repeatsCalls: record.repeatsCalls ?? weights?.record.repeatsCalls ?? false,
    interfaces: interfacesOf(name, record, weights),
    ...(record.regions ? { regions: record.regions } : {}),
    sampling: { ...weights?.record.sampling, ...record.sampling },
    ...(record.maxThinkingTokens === undefined ? {} : { maxThinkingTokens: record.maxThinkingTokens }),
    ...(record.languages === undefined ? {} : { languages: record.languages }),
    ...(record.cumulative === undefined ? {} : { cumulative: record.cumulative }),
    created: record.created ?? 0,
  };
}

/** Weights for speech, or for vectors, do nothing else. @throws ServiceError for a model that is said to. */
function interfacesOf(
  name: string,
  { interfaces }: ModelRecord,
  weights: NamedWeights | undefined,
): readonly ModelInterface[] {
  const task = weights?.weights.folder?.task;
  if (task === undefined) return interfaces ?? CHAT_INTERFACES;
  const only = TASK_INTERFACES[task];
  const strange = interfaces?.find((each) => each !== only);
  if (strange === undefined) return [only];
  throw fault(`models.${name}.interfaces`, `its weights are for ${task}: they serve ${only}, and not ${strange}`);
}

const TASK_INTERFACES = { speech: 'speech', vectors: 'embeddings' } as const satisfies Record<
  WeightsTask,
  ModelInterface
>;

const rendersItself = (record: ModelRecord): boolean => runsElsewhere(record) && (record.input ?? 'chat') === 'chat';

const runsElsewhere = ({ url, command }: ModelRecord): boolean => url !== undefined || command !== undefined;

function runnerOf(name: string, record: ModelRecord, weights: NamedWeights | undefined): ModelEntry['runs'] {
  const family = record.family ?? weights?.record.family ?? 'template';
  if (record.command !== undefined) {
    if (weights?.weights.folder)
      throw fault(`models.${name}.weights`, 'are no model file that a program could be given');
    return {
      type: 'program',
      program: {
        command: record.command,
        args: record.args ?? [],
        environment: record.environment ?? {},
        ...(record.startSeconds === undefined ? {} : { startMs: record.startSeconds * 1000 }),
      },
      ...(weights ? { weights: weights.weights.id } : {}),
      remote: remoteOf(name, record, family),
    };
  }
  if (weights?.weights.folder) return { type: 'onnx', weights: weights.weights.id, task: weights.weights.folder.task };
  if (weights) return { type: 'weights', weights: weights.weights.id, family };
  if (record.url !== undefined) {
    return {
      type: 'upstream',
      addresses: [record.url].flat().map((url) => url.replace(/\/+$/, '')),
      ...(record.apiKeyEnv === undefined ? {} : { apiKeyEnv: record.apiKeyEnv }),
      remote: remoteOf(name, record, family),
    };
  }
  if (record.none !== undefined) return { type: 'none', reason: record.none };
  throw fault(`models.${name}`, `does not say what runs it: give one of ${RUNNER_KEYS.join(', ')}`);
}

const remoteOf = (name: string, record: ModelRecord, family: string): RemoteOptions => ({
  model: record.upstreamModel ?? name,
  ...(record.server === undefined ? {} : { server: record.server }),
  input: record.input ?? 'chat',
  ...(record.chatTemplate === undefined ? {} : { chatTemplate: record.chatTemplate }),
  forward: record.forward ?? [],
  timeouts: record.timeouts ?? {},
  family,
});

function contextTokensOf(name: string, record: ModelRecord, weights: NamedWeights | undefined): number {
  const max = weights?.weights.contextTokensMax;
  if (record.contextTokens === undefined) {
    return record.none === undefined ? Math.min(max ?? CONTEXT_TOKENS_DEFAULT, CONTEXT_TOKENS_DEFAULT) : 0;
  }
  if (max !== undefined && record.contextTokens > max) {
    throw fault(`models.${name}.contextTokens`, `must be at most ${max}, got ${record.contextTokens}`);
  }
  return record.contextTokens;
}

/** What belongs to a runner and goes when another one is named. What a model may do is its role's and stays. */
const RUNNER_FIELDS: ReadonlySet<string> = new Set([
  ...RUNNER_KEYS,
  'revision',
  'sha256',
  ...REMOTE_QUALIFIERS.map(([field]) => field),
  'family',
  'repeatsCalls',
  'licence',
  'contextTokens',
]);

function overlay(base: ModelRecord | undefined, record: ModelRecord): ModelRecord {
  if (!base) return record;
  const isSameRunner = RUNNER_KEYS.every((key) => record[key] === undefined);
  const kept = isSameRunner
    ? base
    : Object.fromEntries(Object.entries(base).filter(([field]) => !RUNNER_FIELDS.has(field)));
  return {
    ...kept,
    ...record,
    abilities: { ...base.abilities, ...record.abilities },
    sampling: { ...base.sampling, ...record.sampling },
  };
}

const fault = (path: string, message: string): ServiceError =>
  new ServiceError('invalid-request', `${path}: ${message}`, { param: path });
