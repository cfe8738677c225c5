import type { Ct2File } from './ct2-file.ts';

/** The sizes of a whisper model. */
export interface WhisperShape {
  readonly encoderLayers: number;
  readonly decoderLayers: number;
  readonly heads: number;
  readonly width: number;
  readonly headWidth: number;
  /** Bands of the spectrum that it hears, and places in time that it makes of half a minute. */
  readonly bands: number;
  readonly frames: number;
  readonly vocabulary: number;
}

/** @throws Error where a size is missing: the file is no whisper model. */
export function whisperShapeOf(model: Ct2File): WhisperShape {
  const dimOf = (name: string, at: number): number => {
    const size = model.variables.get(name)?.shape[at];
    if (size !== undefined && size > 0) return size;
    throw new Error(`the model file has no ${name}`);
  };
  const layersOf = (half: string): number => {
    let count = 0;
    while (model.variables.has(`${half}/layer_${count}/ffn/linear_0/weight`)) count++;
    return count;
  };
  const heads = model.whole('encoder/num_heads');
  const width = dimOf('encoder/layer_norm/gamma', 0);
  if (heads < 1 || width % heads !== 0) throw new Error(`the model file has ${heads} heads for a width of ${width}`);
  return {
    encoderLayers: layersOf('encoder'),
    decoderLayers: layersOf('decoder'),
    heads,
    width,
    headWidth: width / heads,
    bands: dimOf('encoder/conv1/weight', 1),
    frames: dimOf('encoder/position_encodings/encodings', 0),
    vocabulary: dimOf('decoder/embeddings/weight', 0),
  };
}
