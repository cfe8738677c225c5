import type { ResultRow } from './result-table.ts';

/** One entry of `npm run bench`. */
export interface Benchmark {
  readonly needsWeights?: true;
  /** Description of long work. Such a benchmark runs only when it is named. */
  readonly longTask?: string;
  /** Returns the rows of the table, a text that follows the table, or both. */
  run(): Promise<readonly ResultRow[] | string | BenchmarkResult>;
}

export interface BenchmarkResult {
  readonly rows: readonly ResultRow[];
  readonly remarks: readonly string[];
}

export interface BenchmarkDeps {
  readonly modelsFolder: string;
  readonly logProgress: (text: string) => void;
}
