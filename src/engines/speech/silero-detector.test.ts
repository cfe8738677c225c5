import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OnnxRuntime, Tensor } from './onnx-runtime.ts';
import { openSileroDetector } from './silero-detector.ts';

/** Creates a runtime whose model counts its frames in the state, and records its inputs. */
function createFakeRuntime(inputs: Tensor[]): OnnxRuntime {
  const floats = (data: Float32Array, dims: readonly number[]): Tensor => ({ data, dims });
  return {
    createFloatTensor: floats,
    createIntTensor: (values, dims) => ({ data: values, dims }),
    openSession: async () => ({
      inputNames: [],
      async run({ input, state }) {
        if (input) inputs.push(input);
        const memory =
          state?.data instanceof Float32Array ? state.data.map((value) => value + 1) : new Float32Array(256);
        return { output: floats(Float32Array.of(memory[0] ?? 0), [1, 1]), stateN: floats(memory, [2, 1, 128]) };
      },
    }),
  };
}

describe('the Silero detector', () => {
  const samples = Float32Array.from({ length: 512 * 4 }, (_, i) => i);
  const never = new AbortController().signal;

  it('passes each frame with the samples before it, and keeps the state between blocks', async () => {
    const inputs: Tensor[] = [];
    const detector = await openSileroDetector(createFakeRuntime(inputs), 'file');
    const first = await detector.detect(samples.subarray(0, 1_024), undefined, never);
    const second = await detector.detect(samples.subarray(1_024), first.state, never);
    assert.deepEqual([...first.probabilities, ...second.probabilities], [1, 2, 3, 4]);
    assert.equal(inputs.length, 4);
    assert.deepEqual(
      inputs[0]?.data,
      Float32Array.from({ length: 576 }, (_, i) => Math.max(0, i - 64)),
    );
    assert.deepEqual(
      inputs[2]?.data,
      Float32Array.from({ length: 576 }, (_, i) => 1_024 - 64 + i),
    );
  });

  it('stops between two frames after an abort', async () => {
    const detector = await openSileroDetector(createFakeRuntime([]), 'file');
    await assert.rejects(detector.detect(samples, undefined, AbortSignal.abort(new Error('gone'))), /gone/);
  });
});
