import { isUtf8 } from 'node:buffer';

export interface ContentDisposition {
  /** In lower case, e.g. `form-data`. */
  readonly type: string;
  /** Names in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

const PARAMETER = /;[ \t]*([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))[ \t]*/gy;

/**
 * Parses a Content-Disposition header (RFC 6266, RFC 7578). Also accepts what browsers and other clients send: UTF-8
 * text, and quotation marks and line breaks escaped as %22, %0D and %0A. An extended value (RFC 8187, `filename*`)
 * takes precedence over a plain one.
 *
 * @param header The bytes of the header, one character each (latin1).
 * @returns undefined for an invalid header.
 */
export function parseContentDisposition(header: string): ContentDisposition | undefined {
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
      parameters.set(key, decodeHeaderText(raw).replace(/%22/g, '"').replace(/%0d/gi, '\r').replace(/%0a/gi, '\n'));
      continue;
    }
    const value = decodeExtendedValue(raw);
    if (value !== undefined) extended.set(key.slice(0, -1), value);
  }
  if (!['', ';'].includes(rest.slice(end).trim())) return undefined;
  return { type: type.toLowerCase(), parameters: new Map([...parameters, ...extended]) };
}

function decodeHeaderText(latin: string): string {
  const bytes = Buffer.from(latin, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : latin;
}

/** Decodes an extended value (RFC 8187), e.g. `UTF-8''%e2%82%ac`. Clients use no other character set. */
function decodeExtendedValue(raw: string): string | undefined {
  const [, escaped] = /^utf-8'[^']*'(.*)$/i.exec(raw) ?? [];
  try {
    return escaped === undefined ? undefined : decodeURIComponent(escaped);
  } catch {
    return undefined;
  }
}

/**
 * Creates the header value for a download with this file name: RFC 6266, with an RFC 8187 value for non-ASCII names.
 */
export function createAttachmentHeader(name: string): string {
  const whole = name.toWellFormed();
  const plain = whole.replace(/[^ -~]|["\\%]/gu, '_');
  const escaped = encodeURIComponent(whole).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${escaped}`;
}
