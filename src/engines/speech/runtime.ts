import { createRequire } from 'node:module';
import { join } from 'node:path';

/** A block of numbers as the runtime takes and gives it. */
export interface Tensor {
  readonly dims: readonly number[];
  readonly data: unknown;
}

export type Tensors = Readonly<Record<string, Tensor>>;

/** A loaded graph. A run blocks this thread: nothing else happens in this process meanwhile, and nothing can end it. */
export interface Session {
  readonly inputNames: readonly string[];
  run(inputs: Tensors): Promise<Tensors>;
}

/** What we use of onnxruntime-node, which is no dependency of ours: it lies where it was installed on demand. */
export interface Runtime {
  floats(data: Float32Array, dims: readonly number[]): Tensor;
  /** Of whole numbers, 64 bit each. */
  whole(values: readonly number[], dims: readonly number[]): Tensor;
  open(file: string, options: { readonly threads: number }): Promise<Session>;
}

/** The package's own surface, as far as it is used, written down from the types of version 1.30. */
interface Package {
  readonly Tensor: new (type: string, data: Float32Array | BigInt64Array, dims: readonly number[]) => Tensor;
  readonly InferenceSession: {
    create(file: string, options: Readonly<Record<string, unknown>>): Promise<Session>;
  };
}

/** Of the package's scale: errors and worse. Its warnings name graph nodes that it has removed. */
const ERRORS_ONLY = 3;

/**
 * @param runtimeFolder Of the package itself, `<…>/node_modules/onnxruntime-node`; what it needs lies beside it.
 * @throws where there is none, or none for this machine.
 */
export function loadRuntime(runtimeFolder: string): Runtime {
  const { Tensor, InferenceSession } = createRequire(join(runtimeFolder, 'package.json'))(runtimeFolder) as Package;
  return {
    floats: (data, dims) => new Tensor('float32', data, dims),
    whole: (values, dims) => new Tensor('int64', BigInt64Array.from(values, BigInt), dims),
    open: (file, { threads }) =>
      InferenceSession.create(file, {
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        graphOptimizationLevel: 'all',
        logSeverityLevel: ERRORS_ONLY,
      }),
  };
}

/** Floats of an output. @throws where the graph has no such output: its files are not what they are said to be. */
export function floatsOf(outputs: Tensors, name: string): Float32Array {
  const data = outputs[name]?.data;
  if (data instanceof Float32Array) return data;
  throw new Error(`the graph gives no floats named ${name}`);
}
