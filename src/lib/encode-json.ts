import { randomUUID } from 'node:crypto';

const COPIED_CHARS_MIN = 64 * 1024;

/** All but printable ASCII, and the two of it that JSON escapes. */
const ESCAPED = /[^ !#-[\]-~]/;

/**
 * Returns the bytes of a value's JSON. Long texts of which nothing is escaped, such as images in base64, are copied:
 * `JSON.stringify` and the conversion to UTF-8 would block the event loop about four times as long. It is slower for
 * values without such texts.
 */
export function encodeJson(value: object): Buffer {
  const copied: string[] = [];
  const place = randomUUID();
  const json = JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== 'string' || item.length < COPIED_CHARS_MIN || ESCAPED.test(item)) return item;
    copied.push(item);
    return place;
  });
  const parts = json.split(place).map((part) => Buffer.from(part));
  return Buffer.concat(parts.flatMap((part, at) => [part, Buffer.from(copied[at] ?? '', 'latin1')]));
}
