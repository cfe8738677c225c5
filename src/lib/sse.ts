// Encoding and parsing of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

import { createParser } from 'eventsource-parser';
import { omitNullish } from './omit-nullish.ts';

export interface SseFrame {
  id?: string;
  event?: string;
  data: string;
}

/**
 * Encodes `data` as one frame of `data:` lines and an empty line. A line break in `data` starts another `data:` line,
 * so that no payload can forge a field.
 *
 * @param gap Text between the colon and the value: ' ' for most clients, '' for the native dialect.
 */
export function encodeSseData(data: string, gap: '' | ' ' = ' '): string {
  if (!data.includes('\n') && !data.includes('\r')) return `data:${gap}${data}\n\n`;
  return `${data
    .split(/\r\n|\n|\r/)
    .map((line) => `data:${gap}${line}\n`)
    .join('')}\n`;
}

/**
 * Escapes the three characters in JSON, or in frames of JSON, that Unicode defines as line separators and JSON leaves
 * unescaped. Clients that split lines as Python's `splitlines` does (httpx-sse up to 0.4.1) would break a frame there.
 * The value of the JSON stays the same.
 */
export function escapeLineSeparators(json: string): string {
  // Three searches are much faster than one regular expression, and nearly always find nothing.
  if (!json.includes('\u0085') && !json.includes('\u2028') && !json.includes('\u2029')) return json;
  return json.replaceAll(/[\u0085\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Encodes a comment line, which readers skip. Replaces line breaks by spaces. */
export function encodeSseComment(text: string): string {
  return `:${text.replaceAll(/[\r\n]/g, ' ')}\n\n`;
}

export interface SseParser {
  /** Returns the frames that `piece` completes. Frames without data are dropped, as in browsers. @throws RangeError */
  push(piece: string): SseFrame[];
}

/**
 * @param options `sizeMax`: maximum characters of each field of a frame, and of what the parser holds back between two
 * pieces. Beyond: RangeError, so that a peer cannot fill the memory.
 */
export function createSseParser({ sizeMax }: { sizeMax: number }): SseParser {
  let frames: SseFrame[] = [];
  const createSizeError = (): RangeError => new RangeError(`an event is longer than ${sizeMax} characters`);
  const parser = createParser({
    maxBufferSize: sizeMax,
    onEvent({ data, ...names }) {
      // The library measures what it buffers: not a frame that a single piece contains whole.
      if ([data, names.event, names.id].some((field) => field !== undefined && field.length > sizeMax))
        throw createSizeError();
      frames.push({ data, ...omitNullish(names) });
    },
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') throw createSizeError();
    },
  });
  let endsWithCr = false;
  return {
    push(piece) {
      frames = [];
      // The library loses an empty line whose CR ends a piece, so that it gets line feeds only. A CR is a whole line end
      // by itself, unless a line feed follows, possibly in the next piece.
      const text = (endsWithCr ? '\r' : '') + piece;
      endsWithCr = text.endsWith('\r');
      parser.feed((endsWithCr ? text.slice(0, -1) : text).replaceAll(/\r\n?/g, '\n'));
      return frames;
    },
  };
}
