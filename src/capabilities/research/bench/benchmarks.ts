import type { Benchmark, BenchmarkDeps } from '../../../../bench/benchmark.ts';
import { measureResearch } from './research.ts';
import { measureReportTruth } from './truth-reports.ts';

export const createBenchmarks = ({
  modelsFolder,
  logProgress,
}: BenchmarkDeps): Readonly<Record<string, Benchmark>> => ({
  'truth-reports': {
    longTask: 'downloads four documentation packages',
    run: () => measureReportTruth(logProgress),
  },
  research: {
    needsWeights: true,
    longTask: 'writes three reports twice, 10 minutes or more',
    run: () => measureResearch(modelsFolder, logProgress),
  },
});
