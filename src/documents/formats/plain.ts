import { decodeText } from '../decode-text.ts';
import type { TextSink } from '../text-sink.ts';

/** Reads text, Markdown, CSV and JSON unchanged, except for line ends, which become `\n`. */
export function readPlainText(bytes: Uint8Array, sink: Pick<TextSink, 'push'>): void {
  let endsWithReturn = false;
  for (const piece of decodeText(bytes)) {
    if (piece === '') continue;
    // A `\r\n` may be split between two pieces.
    const text: string = endsWithReturn ? `\r${piece}` : piece;
    endsWithReturn = text.endsWith('\r');
    sink.push((endsWithReturn ? text.slice(0, -1) : text).replaceAll(/\r\n?/g, '\n'));
  }
  if (endsWithReturn) sink.push('\n');
}
