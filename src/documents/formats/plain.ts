import { decodeText } from '../decode-text.ts';
import type { TextSink } from '../text-sink.ts';

/** Text, Markdown, CSV and JSON are read as they stand, with `\n` at the end of every line. */
export function readPlain(bytes: Uint8Array, sink: Pick<TextSink, 'push'>): void {
  let endsWithReturn = false;
  for (const piece of decodeText(bytes)) {
    if (piece === '') continue;
    // Half of an end of line may be in the next piece.
    const whole: string = endsWithReturn ? `\r${piece}` : piece;
    endsWithReturn = whole.endsWith('\r');
    sink.push((endsWithReturn ? whole.slice(0, -1) : whole).replaceAll(/\r\n?/g, '\n'));
  }
  if (endsWithReturn) sink.push('\n');
}
