import type { Benchmark, BenchmarkDeps } from '../../../../bench/benchmark.ts';
import { measureCodeInterpreter } from './code.ts';

export const createBenchmarks = ({ logProgress }: BenchmarkDeps): Readonly<Record<string, Benchmark>> => ({
  code: { run: () => measureCodeInterpreter(logProgress) },
});
