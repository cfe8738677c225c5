import type { Benchmark, BenchmarkDeps } from '../../../../bench/benchmark.ts';
import { measureResearch } from './research.ts';

export const createBenchmarks = ({
  modelsFolder,
  logProgress,
}: BenchmarkDeps): Readonly<Record<string, Benchmark>> => ({
  research: {
    needsWeights: true,
    longTask: 'writes three reports twice, 10 minutes or more',
    run: () => measureResearch(modelsFolder, logProgress),
  },
});
