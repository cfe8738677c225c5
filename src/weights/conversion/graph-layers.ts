import type { Ct2File, HalfFloatBlock } from './ct2-file.ts';
import { decodeHalfFloats } from './half-floats.ts';
import { MICROSOFT_DOMAIN, type OnnxGraph } from './onnx-graph.ts';
import { BLOCK_SIZE, quantize } from './quantize.ts';
import type { WhisperShape } from './whisper-shape.ts';

/** A range of rows of a variable; `to` is exclusive. */
export interface RowRange {
  readonly from: number;
  readonly to: number;
}

/** Layers that Whisper's encoder and decoder share. Each function adds nodes and returns the name of their output. */
export interface GraphLayers {
  /** Adds weights stored as 16-bit floats, which the runtime converts to floats when it loads the graph. */
  addHalfFloats(name: string, variable: string): string;
  addFloats(name: string, variable: string): string;
  /** Adds x × weightᵀ + bias for a variable that has `/weight` and `/bias`. */
  addLinear(x: string, variable: string, rows?: RowRange): string;
  /** Adds x × weightᵀ; `name` is the name of the weights in the graph. */
  addLinearWithoutBias(x: string, name: string, variable: string): string;
  addLayerNorm(x: string, variable: string): string;
  /** Adds a residual feed-forward block: x plus the output of its two layers. */
  addFeedForward(x: string, variable: string): string;
  /** Reshapes [batch, time, width] to [batch, heads, time, head width]. */
  splitHeads(x: string): string;
  /** Reverses `splitHeads`. */
  mergeHeads(x: string): string;
}

export interface GraphLayersOptions {
  readonly graph: OnnxGraph;
  readonly model: Ct2File;
  readonly shape: WhisperShape;
  /** Storage of the weights of linear layers. The decoder uses `quantized`: it reads all of them for each token. */
  readonly linearWeights: 'half' | 'quantized';
}

/** Epsilon of Whisper's layer normalization. */
const NORM_EPSILON = 1e-5;

/** Rows that are quantized at a time, so that memory does not depend on the size of the variable. */
const QUANTIZED_ROWS_MAX = 4_096;

export function createGraphLayers({ graph, model, shape, linearWeights }: GraphLayersOptions): GraphLayers {
  const { heads, headWidth, width } = shape;

  const addHalfFloatTensor = (name: string, { shape: dims, bytes }: HalfFloatBlock): string =>
    graph.addNode('Cast', [graph.addTensor(name, 'float16', dims, [bytes])], { attributes: { to: 1 } });

  const addFloatTensor = (name: string, { shape: dims, bytes }: HalfFloatBlock): string =>
    graph.addTensor(name, 'float', dims, [floatsToBytes(decodeHalfFloats(bytes))]);

  const addProduct = (x: string, name: string, variable: string, { from, to }: RowRange): string => {
    if (linearWeights === 'half') {
      const weight = addHalfFloatTensor(name, model.readHalfFloats(variable, from, to));
      return graph.addNode('MatMul', [x, graph.addNode('Transpose', [weight], { attributes: { perm: [1, 0] } })]);
    }
    const [, columns = 0] = model.variables.get(variable)?.shape ?? [];
    const [rows, blocks] = [to - from, columns / BLOCK_SIZE];
    const scales: Uint8Array[] = [];
    const codes = function* (): Generator<Uint8Array> {
      for (let row = from; row < to; row += QUANTIZED_ROWS_MAX) {
        const part = quantize(
          decodeHalfFloats(model.readHalfFloats(variable, row, Math.min(to, row + QUANTIZED_ROWS_MAX)).bytes),
        );
        scales.push(floatsToBytes(part.scales));
        yield part.codes;
      }
    };
    // The order of these two calls is the order in the file: the scales are known only after the codes are written.
    const codesName = graph.addTensor(name, 'uint8', [rows, blocks, BLOCK_SIZE], codes());
    const inputs = [x, codesName, graph.addTensor(`${name}_s`, 'float', [rows * blocks], scales)];
    const attributes = { K: columns, N: rows, bits: 8, block_size: BLOCK_SIZE, accuracy_level: 4 };
    return graph.addNode('MatMulNBits', inputs, { attributes, domain: MICROSOFT_DOMAIN });
  };

  const getAllRows = (variable: string): RowRange => ({ from: 0, to: model.variables.get(variable)?.shape[0] ?? 0 });

  const layers: GraphLayers = {
    addHalfFloats: (name, variable) => addHalfFloatTensor(name, model.readHalfFloats(variable)),
    addFloats: (name, variable) => addFloatTensor(name, model.readHalfFloats(variable)),
    addLinear(x, variable, rows) {
      const name = rows ? `${variable}.${rows.from}` : variable;
      const { from, to } = rows ?? getAllRows(`${variable}/weight`);
      const y = addProduct(x, name, `${variable}/weight`, { from, to });
      return graph.addNode('Add', [y, addFloatTensor(`${name}_b`, model.readHalfFloats(`${variable}/bias`, from, to))]);
    },
    addLinearWithoutBias: (x, name, variable) => addProduct(x, name, variable, getAllRows(variable)),
    addLayerNorm(x, variable) {
      const [gamma, beta] = [`${variable}/gamma`, `${variable}/beta`];
      return graph.addNode('LayerNormalization', [x, layers.addFloats(gamma, gamma), layers.addFloats(beta, beta)], {
        attributes: { axis: -1, epsilon: { float: NORM_EPSILON } },
      });
    },
    addFeedForward(x, variable) {
      const inner = layers.addLinear(layers.addLayerNorm(x, `${variable}/layer_norm`), `${variable}/linear_0`);
      return graph.addNode('Add', [x, layers.addLinear(graph.addNode('Gelu', [inner]), `${variable}/linear_1`)]);
    },
    splitHeads(x) {
      const parts = graph.addNode('Reshape', [x, graph.addConstant('int64', [0, 0, heads, headWidth])]);
      return graph.addNode('Transpose', [parts], { attributes: { perm: [0, 2, 1, 3] } });
    },
    mergeHeads(x) {
      const back = graph.addNode('Transpose', [x], { attributes: { perm: [0, 2, 1, 3] } });
      return graph.addNode('Reshape', [back, graph.addConstant('int64', [0, 0, width])]);
    },
  };
  return layers;
}

const floatsToBytes = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
