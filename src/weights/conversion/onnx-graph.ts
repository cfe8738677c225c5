import { encodeBytesField, encodeFloatField, encodeIntField } from './protobuf.ts';
import type { TensorFile } from './tensor-file.ts';

/** ONNX element types with their numbers. */
const ELEMENT_TYPES = { float: 1, uint8: 2, int64: 7, float16: 10 } as const;
export type ElementType = keyof typeof ELEMENT_TYPES;

/** Dimensions of a tensor. A name instead of a size stands for a size that is known at run time. */
type Shape = readonly (number | string)[];

/** Attributes of a node. A plain number is an integer. */
export type NodeAttributes = Readonly<Record<string, number | readonly number[] | { readonly float: number }>>;

export interface NodeOptions {
  readonly attributes?: NodeAttributes;
  /** Name of the output. Default: a generated name. */
  readonly output?: string;
  /** Domain of the operator. Default: ONNX's standard operators. */
  readonly domain?: string;
}

/** Builder of an ONNX graph. Values are referred to by name; each function returns the name of what it adds. */
export interface OnnxGraph {
  addInput(name: string, type: ElementType, shape: Shape): string;
  addOutput(name: string, type: ElementType, shape: Shape): void;
  /** Adds an operator and returns the name of its output. */
  addNode(operator: string, inputs: readonly string[], options?: NodeOptions): string;
  /** Adds a few numbers that are stored in the graph itself. */
  addConstant(type: 'int64' | 'float', values: readonly number[], shape?: readonly number[]): string;
  /** Adds weights that are stored in the file beside the graph. */
  addTensor(name: string, type: ElementType, shape: readonly number[], pieces: Iterable<Uint8Array>): string;
  /** Returns the encoded graph file. */
  encode(): Buffer;
}

/** Domain of the operators that only Microsoft's ONNX runtime has. */
export const MICROSOFT_DOMAIN = 'com.microsoft';

/** Versions of the format and of both operator sets that the pinned runtime supports. */
const IR_VERSION = 9;
const OPERATOR_SET_VERSION = 20;
const MICROSOFT_OPERATOR_SET_VERSION = 1;

/** ONNX's `TensorProto.DataLocation` for data in another file. */
const EXTERNAL_DATA = 1;

/** ONNX attribute types with their numbers. */
const ATTRIBUTE_TYPES = { float: 1, int: 2, ints: 7 } as const;

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
    addInput(name, type, shape) {
      parts.inputs.push(encodeBytesField(11, encodeValueInfo(name, type, shape)));
      return name;
    },
    addOutput: (name, type, shape) => void parts.outputs.push(encodeBytesField(12, encodeValueInfo(name, type, shape))),
    addNode(operator, inputs, { attributes = {}, output, domain } = {}) {
      const result = output ?? `${operator}_${count++}`;
      const fields = [
        ...inputs.map((input) => encodeBytesField(1, input)),
        encodeBytesField(2, result),
        encodeBytesField(3, `n${count++}`),
        encodeBytesField(4, operator),
        ...Object.entries(attributes).map(([name, value]) => encodeBytesField(5, encodeAttribute(name, value))),
        ...(domain === undefined ? [] : [encodeBytesField(7, domain)]),
      ];
      parts.nodes.push(encodeBytesField(1, Buffer.concat(fields)));
      return result;
    },
    addConstant(type, values, shape = [values.length]) {
      const name = `${type[0]}_${values.join('_')}_${shape.join('x')}`;
      if (constants.has(name)) return name;
      constants.add(name);
      const data = type === 'int64' ? BigInt64Array.from(values, BigInt) : Float32Array.from(values);
      const fields = [...encodeTensorHead(name, type, shape), encodeBytesField(9, Buffer.from(data.buffer))];
      parts.initializers.push(encodeBytesField(5, Buffer.concat(fields)));
      return name;
    },
    addTensor(name, type, shape, pieces) {
      const { offset, length } = weights.add(pieces);
      const entry = (key: string, value: string): Buffer =>
        encodeBytesField(13, Buffer.concat([encodeBytesField(1, key), encodeBytesField(2, value)]));
      const fields = [
        ...encodeTensorHead(name, type, shape),
        entry('location', weights.name),
        entry('offset', String(offset)),
        entry('length', String(length)),
        encodeIntField(14, EXTERNAL_DATA),
      ];
      parts.initializers.push(encodeBytesField(5, Buffer.concat(fields)));
      return name;
    },
    encode() {
      const { nodes, initializers, inputs, outputs } = parts;
      const graph = Buffer.concat([...nodes, encodeBytesField(2, graphName), ...initializers, ...inputs, ...outputs]);
      const operators = (domain: string, version: number): Buffer =>
        encodeBytesField(8, Buffer.concat([encodeBytesField(1, domain), encodeIntField(2, version)]));
      return Buffer.concat([
        encodeIntField(1, IR_VERSION),
        encodeBytesField(2, 'parley'),
        encodeBytesField(7, graph),
        operators('', OPERATOR_SET_VERSION),
        operators(MICROSOFT_DOMAIN, MICROSOFT_OPERATOR_SET_VERSION),
      ]);
    },
  };
}

const encodeTensorHead = (name: string, type: ElementType, shape: readonly number[]): readonly Buffer[] => [
  ...shape.map((size) => encodeIntField(1, size)),
  encodeIntField(2, ELEMENT_TYPES[type]),
  encodeBytesField(8, name),
];

function encodeValueInfo(name: string, type: ElementType, shape: Shape): Buffer {
  const dims = shape.map((dim) =>
    encodeBytesField(1, typeof dim === 'number' ? encodeIntField(1, dim) : encodeBytesField(2, dim)),
  );
  const tensor = Buffer.concat([encodeIntField(1, ELEMENT_TYPES[type]), encodeBytesField(2, Buffer.concat(dims))]);
  return Buffer.concat([encodeBytesField(1, name), encodeBytesField(2, encodeBytesField(1, tensor))]);
}

function encodeAttribute(name: string, value: NodeAttributes[string]): Buffer {
  const fields =
    typeof value === 'number'
      ? [encodeIntField(3, value), encodeIntField(20, ATTRIBUTE_TYPES.int)]
      : 'float' in value
        ? [encodeFloatField(2, value.float), encodeIntField(20, ATTRIBUTE_TYPES.float)]
        : [...value.map((each) => encodeIntField(8, each)), encodeIntField(20, ATTRIBUTE_TYPES.ints)];
  return Buffer.concat([encodeBytesField(1, name), ...fields]);
}
