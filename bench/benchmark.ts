import type { ResultRow } from './result-table.ts';

/** One entry of `npm run bench`. */
export interface Benchmark {
  readonly needsWeights: boolean;
  /** Description of long work. Such a benchmark runs only when it is named. */
  readonly longTask?: string;
  run(): Promise<{ readonly rows: readonly ResultRow[]; readonly remarks: readonly string[] }>;
}

export interface BenchmarkDeps {
  readonly modelsFolder: string;
  readonly logProgress: (text: string) => void;
}

/** Returns the result of a benchmark that has rows and no remarks. */
export const toResult = async (rows: Promise<readonly ResultRow[]>) => ({ rows: await rows, remarks: [] });
