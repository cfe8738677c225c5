/** Server-sent events: writing frames, and reading them from pieces of any size. */

export interface SseFrame {
  id?: string;
  event?: string;
  data: string;
}

/**
 * `data:` lines as one frame with an empty line after it. A line break inside `data` becomes a second `data:` line, so
 * that no payload can forge a field.
 *
 * @param gap What stands between the colon and the value: ' ' for most clients, '' for the native dialect.
 */
export function sseData(data: string, gap: '' | ' ' = ' '): string {
  if (!data.includes('\n') && !data.includes('\r')) return `data:${gap}${data}\n\n`;
  return `${data
    .split(/\r\n|\n|\r/)
    .map((line) => `data:${gap}${line}\n`)
    .join('')}\n`;
}

/**
 * JSON, or frames of JSON, without the three characters that JSON leaves as they are and that are ends of lines to Unicode:
 * readers that split lines as Python's `splitlines` does (httpx-sse up to 0.4.1) would break a frame there. The JSON
 * says the same.
 */
export function escapeLineEnds(json: string): string {
  // Three searches are far cheaper than one by a regular expression, and nearly always all there is to do.
  if (!json.includes('\u0085') && !json.includes('\u2028') && !json.includes('\u2029')) return json;
  return json.replaceAll(/[\u0085\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A comment line: readers skip it. Line breaks are not allowed in it. */
export function sseComment(text: string): string {
  return `:${text.replaceAll(/[\r\n]/g, ' ')}\n\n`;
}

export interface SseParser {
  /** Complete frames in `piece` and what was held before it. Frames without data are dropped, as in browsers. */
  push(piece: string): SseFrame[];
}

/** @param sizeMax Characters a single frame may have; more is an error, so that a peer cannot fill the memory. */
export function createSseParser({ sizeMax }: { sizeMax: number }): SseParser {
  let rest = '';
  let size = 0;
  let data: string[] = [];
  let id: string | undefined;
  let event: string | undefined;

  const takeLine = (line: string, frames: SseFrame[]): void => {
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
      // A CR at the very end may be the first half of CR LF: it waits.
      const endsInCr = text.endsWith('\r');
      if (endsInCr) text = text.slice(0, -1);
      // Few peers write CR, and a pattern splits at a fifth of the speed.
      const lines = text.includes('\r') ? text.split(/\r\n|\n|\r/) : text.split('\n');
      rest = lines.pop() ?? '';
      if (endsInCr) rest += '\r';
      if (rest.length > sizeMax) throw new RangeError(`an event is longer than ${sizeMax} characters`);
      for (const line of lines) takeLine(line, frames);
      return frames;
    },
  };
}
