import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openCt2File } from './ct2-file.ts';
import { createOnnxGraph, type OnnxGraph } from './onnx-graph.ts';
import { createTensorFile } from './tensor-file.ts';
import { buildWhisperDecoder, type AttentionHead } from './whisper-decoder.ts';
import { buildWhisperEncoder } from './whisper-encoder.ts';
import { readWhisperShape } from './whisper-shape.ts';

export interface WhisperConversion {
  /** CTranslate2 model file with 16-bit floats. */
  readonly modelFile: string;
  /** JSON configuration of the model, which lists the attention heads that align text with speech. */
  readonly configFile: string;
  /** Output folder for `encoder.onnx`, `decoder.onnx` and their weights; created when missing. */
  readonly folder: string;
}

/**
 * Converts a Whisper model into the two ONNX graphs that Parley's engine runs. The output is deterministic: the same
 * weights give the same bytes. The encoder keeps 16-bit floats, the decoder is quantized to 8 bits. Memory is that of
 * the largest layer, about 100 MB.
 * @param onBytes Called with the number of bytes of weights written since the previous call.
 * @throws Error that says what is wrong with the model file.
 */
export function convertWhisper(
  { modelFile, configFile, folder }: WhisperConversion,
  onBytes: (bytes: number) => void,
): void {
  mkdirSync(folder, { recursive: true });
  const alignmentHeads = parseAlignmentHeads(JSON.parse(readFileSync(configFile, 'utf8')));
  const model = openCt2File(modelFile);
  try {
    const shape = readWhisperShape(model);
    const write = (name: string, build: (graph: OnnxGraph) => void): void => {
      const weights = createTensorFile(join(folder, `${name}.onnx_data`), { name: `${name}.onnx_data`, onBytes });
      try {
        const graph = createOnnxGraph(name, weights);
        build(graph);
        writeDurably(join(folder, `${name}.onnx`), graph.encode());
      } finally {
        weights.close();
      }
    };
    write('encoder', (graph) => buildWhisperEncoder(graph, model, shape));
    write('decoder', (graph) => buildWhisperDecoder(graph, model, shape, alignmentHeads));
  } finally {
    model.close();
  }
}

function parseAlignmentHeads(config: unknown): readonly AttentionHead[] {
  const given = typeof config === 'object' && config !== null && 'alignment_heads' in config && config.alignment_heads;
  const heads = Array.isArray(given) ? given.filter(isAttentionHead) : [];
  if (heads.length > 0) return heads;
  throw new Error('the model configuration names no alignment_heads');
}

const isAttentionHead = (value: unknown): value is AttentionHead =>
  Array.isArray(value) && value.length === 2 && value.every((each) => Number.isSafeInteger(each) && each >= 0);

function writeDurably(path: string, bytes: Buffer): void {
  const file = openSync(path, 'w');
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
