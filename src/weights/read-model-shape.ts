import { omitNullish } from '../lib/omit-nullish.ts';
import { GgufError, readGgufHeader, type GgufMetadataValue } from './gguf-header.ts';

/** Facts from the header of a GGUF file about the memory that each token in the context takes. */
export interface ModelShape {
  /** Size of the keys and values of all layers for one token, at two bytes per number. */
  readonly cacheBytesPerToken: number;
  /** Context length that the model was trained with; absent when the file does not state it. */
  readonly contextTokens?: number;
}

/** Reads the shape of a model. Returns undefined when the file does not state it or is malformed. */
export async function readModelShape(path: string): Promise<ModelShape | undefined> {
  try {
    return metadataToShape(await readGgufHeader(path));
  } catch (error) {
    if (error instanceof GgufError) return undefined;
    throw error;
  }
}

function metadataToShape(metadata: ReadonlyMap<string, GgufMetadataValue>): ModelShape | undefined {
  const architecture = metadata.get('general.architecture')?.value;
  const readNumber = (name: string): number | undefined => {
    const value = metadata.get(`${String(architecture)}.${name}`)?.value;
    return typeof value === 'number' ? value : undefined;
  };
  const layers = readNumber('block_count');
  const heads = readNumber('attention.head_count');
  if (layers === undefined || heads === undefined || heads === 0) return undefined;
  const perHead = (readNumber('embedding_length') ?? 0) / heads;
  const keyValueWidth =
    (readNumber('attention.key_length') ?? perHead) + (readNumber('attention.value_length') ?? perHead);
  const keyValueHeads = metadata.get(`${String(architecture)}.attention.head_count_kv`)?.value ?? heads;
  const keyValueHeadCount =
    typeof keyValueHeads === 'object'
      ? keyValueHeads.reduce((sum, each) => sum + each, 0)
      : Number(keyValueHeads) * layers;
  const cacheBytesPerToken = 2 * keyValueWidth * keyValueHeadCount;
  const contextTokens = readNumber('context_length');
  return cacheBytesPerToken > 0 ? { cacheBytesPerToken, ...omitNullish({ contextTokens }) } : undefined;
}
