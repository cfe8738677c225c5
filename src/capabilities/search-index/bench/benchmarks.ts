import type { Benchmark, BenchmarkDeps } from '../../../../bench/benchmark.ts';
import { measureSearchTruth } from './search-truth.ts';

export const createBenchmarks = ({
  modelsFolder,
  logProgress,
}: BenchmarkDeps): Readonly<Record<string, Benchmark>> => ({
  'truth-search': {
    needsWeights: true,
    longTask: 'indexes three documentation packages and computes their vectors, 30 minutes or more',
    run: () => measureSearchTruth(modelsFolder, logProgress),
  },
});
