// Drives the engine's library through its public interface: generators that run freely, or all of them in lock step.
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import { serveRequests } from '../child.ts';

const llama = await getLlama({
  gpu: false,
  build: 'never',
  maxThreads: 0,
  skipDownload: true,
  logLevel: LlamaLogLevel.error,
});
const model = await llama.loadModel({ modelPath: process.env['BENCH_MODEL'] ?? '' });
const sequences = Number(process.env['BENCH_SEQUENCES'] ?? 8);
const context = await model.createContext({
  contextSize: 2048,
  batchSize: 512,
  threads: Number(process.env['BENCH_THREADS'] ?? 1),
  sequences,
});
const allSequences: LlamaContextSequence[] = Array.from({ length: sequences }, () => context.getSequence());

interface LibraryRequest {
  readonly streams: number;
  readonly tokens: number;
  readonly prompt: string;
  readonly style: 'lock-step' | 'free';
}

/** Returns the sum of the streams' tokens per second, each from its first token to its last. */
async function measure({ streams, tokens, prompt, style }: LibraryRequest): Promise<number> {
  const generators = await Promise.all(
    allSequences.slice(0, streams).map(async (sequence) => {
      await sequence.clearHistory();
      return sequence.evaluate(model.tokenize(prompt, true), { temperature: 0 });
    }),
  );
  const clocks = generators.map(() => ({ first: 0, last: 0, count: 0 }));
  const step = async (i: number): Promise<void> => {
    const result: IteratorResult<Token> | undefined = await generators[i]?.next();
    const clock = clocks[i];
    if (!clock || result?.done) return;
    clock.last = performance.now();
    if (clock.count === 0) clock.first = clock.last;
    clock.count++;
  };
  if (style === 'free') {
    await Promise.all(
      generators.map(async (_, i) => {
        for (let n = 0; n < tokens; n++) await step(i);
      }),
    );
  } else {
    for (let n = 0; n < tokens; n++) await Promise.all(generators.map((_, i) => step(i)));
  }
  await Promise.all(generators.map((generator) => generator.return()));
  return clocks.reduce((sum, { first, last, count }) => sum + ((count - 1) / (last - first)) * 1000, 0);
}

serveRequests((question) => measure(question as LibraryRequest));
