import { median } from './pairs.ts';
import type { Pairs, Ratio } from './pairs.ts';

export interface Row extends Pairs {
  readonly what: string;
  readonly unit: string;
  readonly peer: string;
  readonly ratio: Ratio;
  readonly goal: string;
}

/** One table, Markdown, so that it can be committed as it is. */
export function table(rows: readonly Row[]): string {
  const cells = rows.map(({ what, unit, a, b, peer, ratio, goal }) => [
    what,
    `${number(median(a))} ${unit}`,
    peer,
    `${number(median(b))} ${unit}`,
    `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)})`,
    goal,
  ]);
  const lines = [
    ['what', 'Parley', 'beside', 'peer', 'median ratio (95 %)', 'goal'],
    ['---', '---', '---', '---', '---', '---'],
    ...cells,
  ];
  return lines.map((line) => `| ${line.join(' | ')} |\n`).join('');
}

const number = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
