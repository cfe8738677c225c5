/** Steps on the way back through the grid. */
const BOTH = 0;
const ROW = 1;
const COLUMN = 2;

/**
 * Dynamic time warping: the way through a grid from its first place to its last, by steps of one row, one column or one of
 * both, that collects the most.
 * @param worth Rows one behind the other. @returns for each row the first column that it is in.
 */
export function warpTimes(
  worth: Float64Array,
  { rows, columns }: { readonly rows: number; readonly columns: number },
): readonly number[] {
  const width = columns + 1;
  const cost = new Float64Array((rows + 1) * width).fill(Infinity);
  const steps = new Uint8Array(cost.length);
  cost[0] = 0;
  for (let row = 1; row <= rows; row++)
    for (let column = 1; column <= columns; column++) {
      const at = row * width + column;
      const both = cost[at - width - 1] ?? Infinity;
      const above = cost[at - width] ?? Infinity;
      const left = cost[at - 1] ?? Infinity;
      const isBoth = both < above && both < left;
      const isRow = !isBoth && above < both && above < left;
      steps[at] = isBoth ? BOTH : isRow ? ROW : COLUMN;
      cost[at] = (isBoth ? both : isRow ? above : left) - (worth[(row - 1) * columns + column - 1] ?? 0);
    }
  const first = Array.from({ length: rows }, () => 0);
  for (let row = rows, column = columns; row > 0 && column > 0;) {
    first[row - 1] = column - 1;
    const step = steps[row * width + column];
    if (step !== COLUMN) row--;
    if (step !== ROW) column--;
  }
  return first;
}
