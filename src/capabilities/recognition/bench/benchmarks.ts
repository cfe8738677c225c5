import type { Benchmark, BenchmarkDeps } from '../../../../bench/benchmark.ts';
import { measureSpeech } from './speech.ts';
import { measureSpeechTruth } from './truth-speech.ts';

export const createBenchmarks = ({ logProgress }: BenchmarkDeps): Readonly<Record<string, Benchmark>> => ({
  speech: {
    longTask: 'recognizes 100 utterances with seven vocabularies, 8 minutes',
    run: () => measureSpeech(logProgress),
  },
  'truth-speech': {
    longTask: 'recognizes 120 recordings of human voices three times, 5 minutes',
    run: () => measureSpeechTruth(logProgress),
  },
});
