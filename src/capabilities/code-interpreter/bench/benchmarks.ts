import { toResult } from '../../../../bench/benchmark.ts';
import type { Benchmark, BenchmarkDeps } from '../../../../bench/benchmark.ts';
import { measureCodeInterpreter } from './code.ts';

export const createBenchmarks = ({ logProgress }: BenchmarkDeps): Readonly<Record<string, Benchmark>> => ({
  code: { needsWeights: false, run: () => toResult(measureCodeInterpreter(logProgress)) },
});
