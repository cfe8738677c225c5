import type { Ct2File } from './ct2-file.ts';

/** Dimensions of a Whisper model. */
export interface WhisperShape {
  readonly encoderLayers: number;
  readonly decoderLayers: number;
  readonly heads: number;
  readonly width: number;
  readonly headWidth: number;
  /** Frequency bands of the input spectrum, and positions in time that the encoder outputs for 30 seconds. */
  readonly bands: number;
  readonly frames: number;
  readonly vocabulary: number;
}

/** Reads the dimensions from the variables. @throws Error when one is missing: the file is not a Whisper model. */
export function readWhisperShape(model: Ct2File): WhisperShape {
  const getDimension = (name: string, at: number): number => {
    const size = model.variables.get(name)?.shape[at];
    if (size !== undefined && size > 0) return size;
    throw new Error(`the model file has no ${name}`);
  };
  const countLayers = (half: string): number => {
    let count = 0;
    while (model.variables.has(`${half}/layer_${count}/ffn/linear_0/weight`)) count++;
    return count;
  };
  const heads = model.readInteger('encoder/num_heads');
  const width = getDimension('encoder/layer_norm/gamma', 0);
  if (heads < 1 || width % heads !== 0) throw new Error(`the model file has ${heads} heads for a width of ${width}`);
  return {
    encoderLayers: countLayers('encoder'),
    decoderLayers: countLayers('decoder'),
    heads,
    width,
    headWidth: width / heads,
    bands: getDimension('encoder/conv1/weight', 1),
    frames: getDimension('encoder/position_encodings/encodings', 0),
    vocabulary: getDimension('decoder/embeddings/weight', 0),
  };
}
