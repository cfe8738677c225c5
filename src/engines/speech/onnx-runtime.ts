import { createRequire } from 'node:module';
import { join } from 'node:path';

/** A multidimensional array of the ONNX runtime. */
export interface Tensor {
  readonly dims: readonly number[];
  readonly data: unknown;
}

export type NamedTensors = Readonly<Record<string, Tensor>>;

/** A loaded model graph. A run blocks the thread and cannot be canceled. */
export interface OnnxSession {
  readonly inputNames: readonly string[];
  run(inputs: NamedTensors): Promise<NamedTensors>;
}

/** The used part of onnxruntime-node. It is not a dependency of Parley: it is installed on demand. */
export interface OnnxRuntime {
  createFloatTensor(data: Float32Array, dims: readonly number[]): Tensor;
  /** Creates a tensor of 64-bit integers. */
  createIntTensor(values: readonly number[], dims: readonly number[]): Tensor;
  openSession(file: string, options: { readonly threads: number }): Promise<OnnxSession>;
}

/** The used exports of onnxruntime-node, copied from its types (version 1.30). */
interface OnnxPackage {
  readonly Tensor: new (type: string, data: Float32Array | BigInt64Array, dims: readonly number[]) => Tensor;
  readonly InferenceSession: {
    create(file: string, options: Readonly<Record<string, unknown>>): Promise<OnnxSession>;
  };
}

/** onnxruntime log level for errors and worse. Its warnings name graph nodes that it has removed. */
const LOG_ERRORS_ONLY = 3;

/**
 * Loads the runtime.
 * @param runtimeFolder Folder of the package, `<…>/node_modules/onnxruntime-node`; its dependencies lie beside it.
 * @throws Error if the package is missing or does not support this machine.
 */
export function loadOnnxRuntime(runtimeFolder: string): OnnxRuntime {
  const { Tensor, InferenceSession } = createRequire(join(runtimeFolder, 'package.json'))(runtimeFolder) as OnnxPackage;
  return {
    createFloatTensor: (data, dims) => new Tensor('float32', data, dims),
    createIntTensor: (values, dims) => new Tensor('int64', BigInt64Array.from(values, BigInt), dims),
    openSession: (file, { threads }) =>
      InferenceSession.create(file, {
        intraOpNumThreads: threads,
        interOpNumThreads: 1,
        executionMode: 'sequential',
        graphOptimizationLevel: 'all',
        logSeverityLevel: LOG_ERRORS_ONLY,
      }),
  };
}

/**
 * Returns a float output of a run.
 * @throws Error if the graph has no such output, which means that it is the wrong file.
 */
export function getFloatOutput(outputs: NamedTensors, name: string): Float32Array {
  const data = outputs[name]?.data;
  if (data instanceof Float32Array) return data;
  throw new Error(`the graph has no float output named ${name}`);
}
