import { computeRatio, median, runAlternately } from './pairs.ts';
import type { Pairs } from './pairs.ts';

/** Results of Parley (a) and of the program that it is compared with (b). */
export interface ResultRow extends Pairs {
  readonly measurement: string;
  readonly unit: string;
  /** Name of the compared program. */
  readonly peer: string;
  /** Required ratio of Parley's result to the peer's, or `reported` if there is no requirement. */
  readonly goal: string;
}

interface Comparison extends Omit<ResultRow, 'a' | 'b'> {
  readonly rounds: number;
  readonly logProgress: (text: string) => void;
}

/** Runs both sides alternately and returns their row. */
export async function measureRow(
  { rounds, logProgress, ...row }: Comparison,
  measureParley: () => Promise<number>,
  measurePeer: () => Promise<number>,
): Promise<ResultRow> {
  logProgress(row.measurement);
  return { ...row, ...(await runAlternately(rounds, measureParley, measurePeer, logProgress)) };
}

/** Formats the rows as a Markdown table that can be committed as it is. */
export function formatTable(rows: readonly ResultRow[]): string {
  const cells = rows.map(({ measurement, unit, a, b, peer, goal }) => {
    const [ratio, low, high] = computeRatio({ a, b }).map((value) => value.toFixed(2));
    const [parleyResult, peerResult] = [a, b].map((values) => `${formatNumber(median(values))} ${unit}`);
    return [measurement, parleyResult, peer, peerResult, `${ratio} (${low} to ${high})`, goal];
  });
  const lines = [
    ['measurement', 'Parley', 'peer', 'peer result', 'median ratio (95 %)', 'goal'],
    ['---', '---', '---', '---', '---', '---'],
    ...cells,
  ];
  return lines.map((line) => `| ${line.join(' | ')} |\n`).join('');
}

const formatNumber = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
