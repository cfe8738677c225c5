import { block, float, int } from './protobuf.ts';
import type { TensorFile } from './tensor-file.ts';

/** Types of elements by their number in ONNX. */
const TYPES = { float: 1, uint8: 2, int64: 7, float16: 10 } as const;
export type ElementType = keyof typeof TYPES;

/** A dimension may have a name instead of a size: then it is whatever the caller brings. */
type Shape = readonly (number | string)[];

/** Of a node. A plain number is a whole one. */
export type Attributes = Readonly<Record<string, number | readonly number[] | { readonly float: number }>>;

export interface NodeOptions {
  readonly attributes?: Attributes;
  /** The name of its output; absent: one of ours. */
  readonly output?: string;
  /** Absent: ONNX's own operators. */
  readonly domain?: string;
}

/** A graph that is being written. Whatever has a value has a name, and names are what is handed on. */
export interface OnnxGraph {
  input(name: string, type: ElementType, shape: Shape): string;
  output(name: string, type: ElementType, shape: Shape): void;
  /** @returns the name of its output. */
  node(operator: string, inputs: readonly string[], options?: NodeOptions): string;
  /** A few numbers, which are kept in the graph itself. */
  constant(type: 'int64' | 'float', values: readonly number[], shape?: readonly number[]): string;
  /** A block of weights, which go to the file beside the graph. */
  tensor(name: string, type: ElementType, shape: readonly number[], pieces: Iterable<Uint8Array>): string;
  /** The whole file. */
  bytes(): Buffer;
}

/** Operators of the runtime's own. */
export const MICROSOFT = 'com.microsoft';

/** Versions of the format and of both sets of operators: what the pinned runtime knows. */
const IR_VERSION = 9;
const OPERATORS = 20;
const MICROSOFT_OPERATORS = 1;

/** From ONNX: data that lies in another file. */
const EXTERNAL = 1;

/** Numbers of the types of attributes. */
const ATTRIBUTE = { float: 1, int: 2, ints: 7 } as const;

export function createOnnxGraph(graphName: string, weights: TensorFile): OnnxGraph {
  const parts: Record<'nodes' | 'initializers' | 'inputs' | 'outputs', Buffer[]> = {
    nodes: [],
    initializers: [],
    inputs: [],
    outputs: [],
  };
  const constants = new Set<string>();
  let count = 0;

  return {
    input(name, type, shape) {
      parts.inputs.push(block(11, valueInfo(name, type, shape)));
      return name;
    },
    output: (name, type, shape) => void parts.outputs.push(block(12, valueInfo(name, type, shape))),
    node(operator, inputs, { attributes = {}, output, domain } = {}) {
      const result = output ?? `${operator}_${count++}`;
      const fields = [
        ...inputs.map((input) => block(1, input)),
        block(2, result),
        block(3, `n${count++}`),
        block(4, operator),
        ...Object.entries(attributes).map(([name, value]) => block(5, attribute(name, value))),
        ...(domain === undefined ? [] : [block(7, domain)]),
      ];
      parts.nodes.push(block(1, Buffer.concat(fields)));
      return result;
    },
    constant(type, values, shape = [values.length]) {
      const name = `${type[0]}_${values.join('_')}_${shape.join('x')}`;
      if (constants.has(name)) return name;
      constants.add(name);
      const data = type === 'int64' ? BigInt64Array.from(values, BigInt) : Float32Array.from(values);
      const fields = [...tensorHead(name, type, shape), block(9, Buffer.from(data.buffer))];
      parts.initializers.push(block(5, Buffer.concat(fields)));
      return name;
    },
    tensor(name, type, shape, pieces) {
      const { offset, length } = weights.add(pieces);
      const entry = (key: string, value: string): Buffer => block(13, Buffer.concat([block(1, key), block(2, value)]));
      const fields = [
        ...tensorHead(name, type, shape),
        entry('location', weights.name),
        entry('offset', String(offset)),
        entry('length', String(length)),
        int(14, EXTERNAL),
      ];
      parts.initializers.push(block(5, Buffer.concat(fields)));
      return name;
    },
    bytes() {
      const { nodes, initializers, inputs, outputs } = parts;
      const graph = Buffer.concat([...nodes, block(2, graphName), ...initializers, ...inputs, ...outputs]);
      const operators = (domain: string, version: number): Buffer =>
        block(8, Buffer.concat([block(1, domain), int(2, version)]));
      return Buffer.concat([
        int(1, IR_VERSION),
        block(2, 'parley'),
        block(7, graph),
        operators('', OPERATORS),
        operators(MICROSOFT, MICROSOFT_OPERATORS),
      ]);
    },
  };
}

const tensorHead = (name: string, type: ElementType, shape: readonly number[]): readonly Buffer[] => [
  ...shape.map((size) => int(1, size)),
  int(2, TYPES[type]),
  block(8, name),
];

function valueInfo(name: string, type: ElementType, shape: Shape): Buffer {
  const dims = shape.map((dim) => block(1, typeof dim === 'number' ? int(1, dim) : block(2, dim)));
  const tensor = Buffer.concat([int(1, TYPES[type]), block(2, Buffer.concat(dims))]);
  return Buffer.concat([block(1, name), block(2, block(1, tensor))]);
}

function attribute(name: string, value: Attributes[string]): Buffer {
  const fields =
    typeof value === 'number'
      ? [int(3, value), int(20, ATTRIBUTE.int)]
      : 'float' in value
        ? [float(2, value.float), int(20, ATTRIBUTE.float)]
        : [...value.map((each) => int(8, each)), int(20, ATTRIBUTE.ints)];
  return Buffer.concat([block(1, name), ...fields]);
}
