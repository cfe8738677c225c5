import { isUtf8 } from 'node:buffer';

export interface Disposition {
  /** In lower case, e.g. `form-data`. */
  readonly type: string;
  /** Names in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

const PARAMETER = /;[ \t]*([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))[ \t]*/gy;

/**
 * RFC 6266 and RFC 7578, and what browsers and clients send besides: text as UTF-8, quotation marks and line ends escaped
 * as %22, %0D and %0A. An extended value (RFC 8187, `filename*`) goes before a plain one.
 *
 * @param header Its bytes, one character each (latin1).
 * @returns undefined where it cannot be read.
 */
export function readDisposition(header: string): Disposition | undefined {
  const type = /^[\w-]+/.exec(header)?.[0];
  if (type === undefined) return undefined;
  const parameters = new Map<string, string>();
  const extended = new Map<string, string>();
  const rest = header.slice(type.length).trimStart();
  let end = 0;
  for (const [whole, name = '', quoted, bare] of rest.matchAll(PARAMETER)) {
    end += whole.length;
    const key = name.toLowerCase();
    const raw = quoted === undefined ? (bare ?? '') : quoted.replace(/\\(["\\])/g, '$1');
    if (!key.endsWith('*')) {
      parameters.set(key, textOf(raw).replace(/%22/g, '"').replace(/%0d/gi, '\r').replace(/%0a/gi, '\n'));
      continue;
    }
    const value = extendedValue(raw);
    if (value !== undefined) extended.set(key.slice(0, -1), value);
  }
  if (!['', ';'].includes(rest.slice(end).trim())) return undefined;
  return { type: type.toLowerCase(), parameters: new Map([...parameters, ...extended]) };
}

function textOf(latin: string): string {
  const bytes = Buffer.from(latin, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : latin;
}

/** RFC 8187: `UTF-8''%e2%82%ac`; another character set is none that anybody sends. */
function extendedValue(raw: string): string | undefined {
  const [, escaped] = /^utf-8'[^']*'(.*)$/i.exec(raw) ?? [];
  try {
    return escaped === undefined ? undefined : decodeURIComponent(escaped);
  } catch {
    return undefined;
  }
}

/** A header for a file that is to be stored under this name and never shown: RFC 6266, with RFC 8187 for what is no ASCII. */
export function attachmentOf(name: string): string {
  const whole = name.toWellFormed();
  const plain = whole.replace(/[^ -~]|["\\%]/gu, '_');
  const escaped = encodeURIComponent(whole).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${escaped}`;
}
