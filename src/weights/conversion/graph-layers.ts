import type { Ct2File, Halves } from './ct2-file.ts';
import { toFloats } from './half-floats.ts';
import { MICROSOFT } from './onnx-graph.ts';
import type { OnnxGraph } from './onnx-graph.ts';
import { BLOCK, quantize } from './quantize.ts';
import type { WhisperShape } from './whisper-shape.ts';

/** Rows of a variable; all where it says nothing. */
export interface Rows {
  readonly from: number;
  readonly to: number;
}

/** What both halves of a whisper are made of. Each function adds to the graph, and gives the name of what comes out. */
export interface GraphLayers {
  /** Weights kept as half floats; the runtime makes floats of them when it loads the graph. */
  half(name: string, variable: string): string;
  float(name: string, variable: string): string;
  /** x × weightᵀ + bias, of a variable with `/weight` and `/bias`. */
  linear(x: string, variable: string, rows?: Rows): string;
  /** The same without a bias, under another name. */
  plainLinear(x: string, name: string, variable: string): string;
  norm(x: string, variable: string): string;
  /** x and what its two layers make of it. */
  feedForward(x: string, variable: string): string;
  /** [batch, time, width] to [batch, heads, time, width of a head]. */
  split(x: string): string;
  /** And back. */
  merge(x: string): string;
}

export interface LayersNeeds {
  readonly graph: OnnxGraph;
  readonly model: Ct2File;
  readonly shape: WhisperShape;
  /** How the weights of linear layers are kept: a decoder runs once per token, and reads all of them each time. */
  readonly linears: 'half' | 'quantized';
}

/** Of the model: part of the values that its norms divide by. */
const NORM_EPSILON = 1e-5;

/** Rows that are quantized at a time: memory does not depend on the size of a table. */
const ROWS_AT_ONCE = 4_096;

export function createGraphLayers({ graph, model, shape, linears }: LayersNeeds): GraphLayers {
  const { heads, headWidth, width } = shape;

  const keepHalf = (name: string, { shape: dims, bytes }: Halves): string =>
    graph.node('Cast', [graph.tensor(name, 'float16', dims, [bytes])], { attributes: { to: 1 } });

  const keepFloat = (name: string, { shape: dims, bytes }: Halves): string =>
    graph.tensor(name, 'float', dims, [bytesOf(toFloats(bytes))]);

  const product = (x: string, name: string, variable: string, { from, to }: Rows): string => {
    if (linears === 'half') {
      const weight = keepHalf(name, model.halves(variable, from, to));
      return graph.node('MatMul', [x, graph.node('Transpose', [weight], { attributes: { perm: [1, 0] } })]);
    }
    const [, columns = 0] = model.variables.get(variable)?.shape ?? [];
    const [rows, blocks] = [to - from, columns / BLOCK];
    const scales: Uint8Array[] = [];
    const codes = function* (): Generator<Uint8Array> {
      for (let row = from; row < to; row += ROWS_AT_ONCE) {
        const part = quantize(toFloats(model.halves(variable, row, Math.min(to, row + ROWS_AT_ONCE)).bytes));
        scales.push(bytesOf(part.scales));
        yield part.codes;
      }
    };
    // The names stand in the order in which the blocks are written: scales are known when the codes are.
    const codesName = graph.tensor(name, 'uint8', [rows, blocks, BLOCK], codes());
    const inputs = [x, codesName, graph.tensor(`${name}_s`, 'float', [rows * blocks], scales)];
    const attributes = { K: columns, N: rows, bits: 8, block_size: BLOCK, accuracy_level: 4 };
    return graph.node('MatMulNBits', inputs, { attributes, domain: MICROSOFT });
  };

  const allRows = (variable: string): Rows => ({ from: 0, to: model.variables.get(variable)?.shape[0] ?? 0 });

  const layers: GraphLayers = {
    half: (name, variable) => keepHalf(name, model.halves(variable)),
    float: (name, variable) => keepFloat(name, model.halves(variable)),
    linear(x, variable, rows) {
      const name = rows ? `${variable}.${rows.from}` : variable;
      const { from, to } = rows ?? allRows(`${variable}/weight`);
      const y = product(x, name, `${variable}/weight`, { from, to });
      return graph.node('Add', [y, keepFloat(`${name}_b`, model.halves(`${variable}/bias`, from, to))]);
    },
    plainLinear: (x, name, variable) => product(x, name, variable, allRows(variable)),
    norm(x, variable) {
      const [gamma, beta] = [`${variable}/gamma`, `${variable}/beta`];
      return graph.node('LayerNormalization', [x, layers.float(gamma, gamma), layers.float(beta, beta)], {
        attributes: { axis: -1, epsilon: { float: NORM_EPSILON } },
      });
    },
    feedForward(x, variable) {
      const inner = layers.linear(layers.norm(x, `${variable}/layer_norm`), `${variable}/linear_0`);
      return graph.node('Add', [x, layers.linear(graph.node('Gelu', [inner]), `${variable}/linear_1`)]);
    },
    split(x) {
      const parts = graph.node('Reshape', [x, graph.constant('int64', [0, 0, heads, headWidth])]);
      return graph.node('Transpose', [parts], { attributes: { perm: [0, 2, 1, 3] } });
    },
    merge(x) {
      const back = graph.node('Transpose', [x], { attributes: { perm: [0, 2, 1, 3] } });
      return graph.node('Reshape', [back, graph.constant('int64', [0, 0, width])]);
    },
  };
  return layers;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);
