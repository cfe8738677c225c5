import { omitNullish } from '../lib/omit-nullish.ts';
import type { Weights } from '../core/weights.ts';
import type { Adapter, ModelEntry, RemoteOptions } from './model.ts';
import { createRecordError } from './record-error.ts';
import { RUNNER_KEYS, type ModelRecord, type WeightsRecord } from './schema.ts';

/** Weights with the properties that models inherit from their record. */
export interface NamedWeights {
  readonly weights: Weights;
  readonly record: Pick<WeightsRecord, 'family' | 'abilities' | 'repeatsCalls' | 'sampling'>;
}

/** The LoRA adapters of a record, and the one of the entry if it is the entry of an adapter. */
export interface AdapterSelection {
  readonly adapters: readonly Adapter[];
  readonly adapter?: Adapter | undefined;
}

/** Resolves what runs the entry of a record, or of one of its adapters. @throws ServiceError for fields that do not fit. */
export function resolveRunner(
  name: string,
  record: ModelRecord,
  weights: NamedWeights | undefined,
  { adapters, adapter }: AdapterSelection,
): ModelEntry['runner'] {
  const family = record.family ?? weights?.record.family ?? 'template';
  if (record.command !== undefined) {
    if (weights?.weights.folder)
      throw createRecordError(`models.${name}.weights`, 'are not a model file that a program can load');
    if (record.mmproj !== undefined && record.command !== 'llama-server')
      throw createRecordError(
        `models.${name}.mmproj`,
        'needs `command: llama-server`; pass another program its projector in `args`',
      );
    if (record.mmproj !== undefined && record.input === 'prompt')
      throw createRecordError(`models.${name}.mmproj`, 'needs `input: chat`: prompts contain no images');
    if (record.speculative !== undefined)
      throw createRecordError(
        `models.${name}.speculative`,
        'is for the embedded engine; pass a program its own arguments in `args`',
      );
    // vLLM serves a model and its adapters at once; llama-server applies an adapter to all requests.
    const isShared = record.command === 'vllm';
    const loadedAdapters = isShared ? adapters : [adapter ?? []].flat();
    return {
      type: 'program',
      program: {
        command: record.command,
        args: record.args ?? [],
        environment: record.environment ?? {},
        ...omitNullish({ projectorFile: record.mmproj }),
        ...(loadedAdapters.length > 0 ? { adapters: loadedAdapters } : {}),
        ...(record.startSeconds === undefined ? {} : { startMs: record.startSeconds * 1000 }),
      },
      ...(weights ? { weights: weights.weights.id } : {}),
      remote:
        isShared && adapter
          ? { ...toRemoteOptions(adapter.base, record, family), adapter: adapter.name }
          : toRemoteOptions(name, record, family),
    };
  }
  if (weights?.weights.folder) return { type: 'onnx', weights: weights.weights.id, task: weights.weights.folder.task };
  if (weights) {
    const { chatTemplate, speculative } = record;
    return {
      type: 'weights',
      weights: weights.weights.id,
      family,
      ...omitNullish({ chatTemplate, adapter, draftTokens: speculative?.tokens }),
    };
  }
  if (record.url !== undefined) {
    return {
      type: 'upstream',
      addresses: [record.url].flat().map((url) => url.replace(/\/+$/, '')),
      ...(record.apiKeyEnv === undefined ? {} : { apiKeyEnv: record.apiKeyEnv }),
      remote: toRemoteOptions(name, record, family),
    };
  }
  if (record.none !== undefined) return { type: 'none', reason: record.none };
  throw createRecordError(`models.${name}`, `has no runner: set one of ${RUNNER_KEYS.join(', ')}`);
}

const toRemoteOptions = (name: string, record: ModelRecord, family: string): RemoteOptions => ({
  model: record.upstreamModel ?? name,
  input: record.input ?? 'chat',
  ...omitNullish({ server: record.server, chatTemplate: record.chatTemplate, sequences: record.sequences }),
  forward: record.forward ?? [],
  timeouts: record.timeouts ?? {},
  family,
});
