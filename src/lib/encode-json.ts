import { randomUUID } from 'node:crypto';
import { setImmediate as afterPendingWork } from 'node:timers/promises';

const COPIED_CHARS_MIN = 64 * 1024;

/** All but printable ASCII, and the two of it that JSON escapes. */
const ESCAPED = /[^ !#-[\]-~]/;

/**
 * Returns the bytes of a value's JSON, and leaves the event loop to others between long texts, such as images in base64.
 * A text of which nothing is escaped is copied: `JSON.stringify` and the conversion to UTF-8 would take about four times as
 * long. It is slower for values without long texts.
 */
export async function encodeJson(value: object): Promise<Buffer> {
  const longTexts: string[] = [];
  const place = randomUUID();
  const json = JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== 'string' || item.length < COPIED_CHARS_MIN) return item;
    longTexts.push(item);
    return place;
  });
  const [start = '', ...parts] = json.split(place);
  const pieces: Buffer[] = [Buffer.from(start)];
  for (const [at, part] of parts.entries()) {
    await afterPendingWork();
    pieces.push(encodeText(longTexts[at] ?? ''), Buffer.from(part));
  }
  return Buffer.concat(pieces);
}

/** Encodes a text as JSON without its quotes. */
const encodeText = (text: string): Buffer =>
  ESCAPED.test(text) ? Buffer.from(JSON.stringify(text).slice(1, -1)) : Buffer.from(text, 'latin1');
