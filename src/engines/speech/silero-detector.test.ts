import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Runtime, Tensor } from './runtime.ts';
import { openSileroDetector } from './silero-detector.ts';

/** A graph whose output counts what it was given: its state grows by one a frame, and it sees samples before the frame. */
function runtimeOf(heard: Tensor[]): Runtime {
  const floats = (data: Float32Array, dims: readonly number[]): Tensor => ({ data, dims });
  return {
    floats,
    whole: (values, dims) => ({ data: values, dims }),
    open: async () => ({
      inputNames: [],
      async run({ input, state }) {
        if (input) heard.push(input);
        const memory =
          state?.data instanceof Float32Array ? state.data.map((value) => value + 1) : new Float32Array(256);
        return { output: floats(Float32Array.of(memory[0] ?? 0), [1, 1]), stateN: floats(memory, [2, 1, 128]) };
      },
    }),
  };
}

describe('silero’s detector', () => {
  const samples = Float32Array.from({ length: 512 * 4 }, (_, i) => i);
  const never = new AbortController().signal;

  it('hears each frame with the samples before it, and remembers from block to block', async () => {
    const heard: Tensor[] = [];
    const detector = await openSileroDetector(runtimeOf(heard), 'file');
    const first = await detector.detect(samples.subarray(0, 1_024), undefined, never);
    const second = await detector.detect(samples.subarray(1_024), first.state, never);
    assert.deepEqual([...first.probabilities, ...second.probabilities], [1, 2, 3, 4]);
    assert.equal(heard.length, 4);
    assert.deepEqual(
      heard[0]?.data,
      Float32Array.from({ length: 576 }, (_, i) => Math.max(0, i - 64)),
    );
    assert.deepEqual(
      heard[2]?.data,
      Float32Array.from({ length: 576 }, (_, i) => 1_024 - 64 + i),
    );
  });

  it('ends between two frames', async () => {
    const detector = await openSileroDetector(runtimeOf([]), 'file');
    await assert.rejects(detector.detect(samples, undefined, AbortSignal.abort(new Error('gone'))), /gone/);
  });
});
