// Encoding and parsing of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

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
 * @param options `sizeMax`: maximum characters of a frame. Beyond: RangeError, so that a peer cannot fill the memory.
 */
export function createSseParser({ sizeMax }: { sizeMax: number }): SseParser {
  let rest = '';
  let size = 0;
  let data: string[] = [];
  let id: string | undefined;
  let event: string | undefined;

  const processLine = (line: string, frames: SseFrame[]): void => {
    if (line === '') {
      if (data.length > 0) {
        frames.push({
          data: data.join('\n'),
          ...(id === undefined ? {} : { id }),
          ...(event === undefined ? {} : { event }),
        });
      }
      data = [];
      event = undefined;
      id = undefined;
      size = 0;
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    size += line.length;
    if (size > sizeMax) throw new RangeError(`an event is longer than ${sizeMax} characters`);
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id') id = value;
  };

  return {
    push(piece) {
      const frames: SseFrame[] = [];
      let text = rest + piece;
      // A final CR may be the first half of CR LF, so it waits for the next piece.
      const endsInCr = text.endsWith('\r');
      if (endsInCr) text = text.slice(0, -1);
      // Few peers send CR, and splitting by a regular expression is five times slower.
      const lines = text.includes('\r') ? text.split(/\r\n|\n|\r/) : text.split('\n');
      rest = lines.pop() ?? '';
      if (endsInCr) rest += '\r';
      if (rest.length > sizeMax) throw new RangeError(`an event is longer than ${sizeMax} characters`);
      for (const line of lines) processLine(line, frames);
      return frames;
    },
  };
}
