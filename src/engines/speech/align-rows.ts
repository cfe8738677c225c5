/** Steps of the path through the matrix. */
const STEP_BOTH = 0;
const STEP_ROW = 1;
const STEP_COLUMN = 2;

/**
 * Aligns rows with columns by dynamic time warping: finds the path from the first to the last cell with the largest sum
 * of scores, by steps of one row, one column or both.
 * @param scores Matrix, row by row.
 * @returns for each row the first column of the path.
 */
export function alignRows(
  scores: Float64Array,
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
      steps[at] = isBoth ? STEP_BOTH : isRow ? STEP_ROW : STEP_COLUMN;
      cost[at] = (isBoth ? both : isRow ? above : left) - (scores[(row - 1) * columns + column - 1] ?? 0);
    }
  const first = Array.from({ length: rows }, () => 0);
  for (let row = rows, column = columns; row > 0 && column > 0;) {
    first[row - 1] = column - 1;
    const step = steps[row * width + column];
    if (step !== STEP_COLUMN) row--;
    if (step !== STEP_ROW) column--;
  }
  return first;
}
