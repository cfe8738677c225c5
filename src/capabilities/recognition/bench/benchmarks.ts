import type { Benchmark, BenchmarkDeps } from '../../../../bench/benchmark.ts';
import { measureSpeech } from './speech.ts';

export const createBenchmarks = ({ logProgress }: BenchmarkDeps): Readonly<Record<string, Benchmark>> => ({
  speech: {
    longTask: 'recognizes 100 utterances with seven vocabularies, 8 minutes',
    run: () => measureSpeech(logProgress),
  },
});
