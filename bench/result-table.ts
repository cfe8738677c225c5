import { median } from './pairs.ts';
import type { Pairs, Ratio } from './pairs.ts';

/** Results of Parley (a) and of the program that it is compared with (b). */
export interface ResultRow extends Pairs {
  readonly measurement: string;
  readonly unit: string;
  /** Name of the compared program. */
  readonly peer: string;
  /** Result of Parley divided by the peer's. */
  readonly ratio: Ratio;
  /** Required ratio, or `reported` if there is no requirement. */
  readonly goal: string;
}

/** Formats the rows as a Markdown table that can be committed as it is. */
export function formatTable(rows: readonly ResultRow[]): string {
  const cells = rows.map(({ measurement, unit, a, b, peer, ratio, goal }) => [
    measurement,
    `${formatNumber(median(a))} ${unit}`,
    peer,
    `${formatNumber(median(b))} ${unit}`,
    `${ratio.computeMedian.toFixed(2)} (${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)})`,
    goal,
  ]);
  const lines = [
    ['measurement', 'Parley', 'peer', 'peer result', 'median ratio (95 %)', 'goal'],
    ['---', '---', '---', '---', '---', '---'],
    ...cells,
  ];
  return lines.map((line) => `| ${line.join(' | ')} |\n`).join('');
}

const formatNumber = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
