import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import { VOICE_FRAME_SAMPLES } from '../speech-engine.ts';
import { getFloatOutput, type OnnxRuntime } from './onnx-runtime.ts';
import type { VoiceDetector } from './energy-detector.ts';

/** State of the model (two rows of 128), and samples before each frame that are part of its input. */
const MEMORY_FLOATS = 256;
const CONTEXT_SAMPLES = 64;

/** Silero voice detector, version 6, for 16 kHz: the model has 1.3 MB and needs 1 % of the audio's duration. */
export async function openSileroDetector(runtime: OnnxRuntime, voiceFile: string): Promise<VoiceDetector> {
  const session = await runtime.openSession(voiceFile, { threads: 1 });
  const rate = runtime.createIntTensor([SPEECH_SAMPLE_RATE], []);
  return {
    async detect(samples, state, signal) {
      const previous =
        state?.length === MEMORY_FLOATS + CONTEXT_SAMPLES ? state : new Float32Array(MEMORY_FLOATS + CONTEXT_SAMPLES);
      let memory: Float32Array = previous.slice(0, MEMORY_FLOATS);
      let context: Float32Array = previous.slice(MEMORY_FLOATS);
      const probabilities: number[] = [];
      for (let at = 0; at + VOICE_FRAME_SAMPLES <= samples.length; at += VOICE_FRAME_SAMPLES) {
        signal.throwIfAborted();
        const input = new Float32Array(CONTEXT_SAMPLES + VOICE_FRAME_SAMPLES);
        input.set(context);
        input.set(samples.subarray(at, at + VOICE_FRAME_SAMPLES), CONTEXT_SAMPLES);
        context = input.slice(VOICE_FRAME_SAMPLES);
        const outputs = await session.run({
          input: runtime.createFloatTensor(input, [1, input.length]),
          state: runtime.createFloatTensor(memory, [2, 1, MEMORY_FLOATS / 2]),
          sr: rate,
        });
        memory = getFloatOutput(outputs, 'stateN');
        probabilities.push(getFloatOutput(outputs, 'output')[0] ?? 0);
      }
      const nextState = new Float32Array(MEMORY_FLOATS + CONTEXT_SAMPLES);
      nextState.set(memory);
      nextState.set(context, MEMORY_FLOATS);
      return { probabilities, state: nextState };
    },
  };
}
