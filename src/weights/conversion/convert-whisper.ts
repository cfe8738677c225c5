import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openCt2File } from './ct2-file.ts';
import { createOnnxGraph } from './onnx-graph.ts';
import type { OnnxGraph } from './onnx-graph.ts';
import { createTensorFile } from './tensor-file.ts';
import { buildWhisperDecoder } from './whisper-decoder.ts';
import type { Head } from './whisper-decoder.ts';
import { buildWhisperEncoder } from './whisper-encoder.ts';
import { whisperShapeOf } from './whisper-shape.ts';

export interface WhisperConversion {
  /** A model file of CTranslate2 with half floats. */
  readonly modelFile: string;
  /** The JSON beside it, which knows the heads that follow the speech. */
  readonly configFile: string;
  /** `encoder.onnx`, `decoder.onnx` and their weights come here; made when it is not there. */
  readonly folder: string;
}

/**
 * Writes a whisper model as the two graphs that our engine runs: the same weights always give the same bytes. The encoder
 * keeps its half floats, the decoder becomes 8 bit. Memory is that of the largest layer, about 100 MB.
 * @param onBytes Of weights that were written since the last call.
 * @throws Error that says what is wrong with the model file.
 */
export function convertWhisper(
  { modelFile, configFile, folder }: WhisperConversion,
  onBytes: (bytes: number) => void,
): void {
  mkdirSync(folder, { recursive: true });
  const alignmentHeads = alignmentHeadsOf(JSON.parse(readFileSync(configFile, 'utf8')));
  const model = openCt2File(modelFile);
  try {
    const shape = whisperShapeOf(model);
    const write = (name: string, build: (graph: OnnxGraph) => void): void => {
      const weights = createTensorFile(join(folder, `${name}.onnx_data`), { name: `${name}.onnx_data`, onBytes });
      try {
        const graph = createOnnxGraph(name, weights);
        build(graph);
        writeDurably(join(folder, `${name}.onnx`), graph.bytes());
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

function alignmentHeadsOf(config: unknown): readonly Head[] {
  const given = typeof config === 'object' && config !== null && 'alignment_heads' in config && config.alignment_heads;
  const heads = Array.isArray(given) ? given.filter(isHead) : [];
  if (heads.length > 0) return heads;
  throw new Error('the model configuration names no alignment_heads');
}

const isHead = (value: unknown): value is Head =>
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
