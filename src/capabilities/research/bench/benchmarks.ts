import type { Benchmark, BenchmarkDeps } from '../../../../bench/benchmark.ts';
import { measureResearch } from './research.ts';
import { measureReportTruth } from './truth-reports.ts';

export const createBenchmarks = ({
  modelsFolder,
  logProgress,
}: BenchmarkDeps): Readonly<Record<string, Benchmark>> => ({
  'truth-reports': {
    longTask: 'downloads six documentation packages, writes 52 reports, 10 minutes',
    run: () => measureReportTruth(logProgress),
  },
  research: {
    needsWeights: true,
    longTask: 'writes three reports twice, 10 minutes or more',
    run: () => measureResearch(modelsFolder, logProgress),
  },
});
