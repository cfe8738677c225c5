import type { Adapter } from './model.ts';
import { createRecordError } from './record-error.ts';
import type { NamedWeights } from './resolve-runner.ts';
import type { ModelRecord } from './schema.ts';

/** Lists the LoRA adapters of a record. @throws ServiceError when what runs the model cannot apply them. */
export function listAdapters(name: string, record: ModelRecord, weights: NamedWeights | undefined): readonly Adapter[] {
  const { adapters = {}, command, interfaces = [] } = record;
  const path = `models.${name}.adapters`;
  if (record.adapters === undefined) return [];
  if (weights?.weights.folder) throw createRecordError(path, 'are for models that generate text');
  // The embedded engine computes vectors and ranks in contexts without adapters.
  const unsupported = interfaces.find((each) => each === 'embeddings' || each === 'rerank');
  if (unsupported !== undefined)
    throw createRecordError(path, `apply to generated text only; remove ${unsupported} from interfaces`);
  if (command !== undefined && command !== 'llama-server' && command !== 'vllm')
    throw createRecordError(
      path,
      'need `command: llama-server` or `command: vllm`; pass another program its adapters in `args`',
    );
  return Object.entries(adapters).map(([adapterName, file]) => {
    if (command !== undefined && 'scale' in file)
      throw createRecordError(`${path}.${adapterName}.scale`, 'is for the embedded engine; remove it or `command`');
    return { name: adapterName, base: name, ...file };
  });
}
