import { Parser } from 'htmlparser2';
import { DOCUMENT_DEPTH_MAX } from './limits.ts';
import { decodeText } from './decode-text.ts';
import { UnreadableDocumentError } from './unreadable-document-error.ts';

export type Attributes = Readonly<Record<string, string>>;

/** Callbacks for the parts of a page or an XML file. Names come without their namespace prefix. */
export interface MarkupHandler {
  open?(name: string, attributes: Attributes): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** Number of leading bytes that may declare an encoding. */
const DECLARATION_BYTES = 1024;

const XML_ENCODING = /^<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']/;
const HTML_CHARSET = /<meta\s[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i;

/**
 * Parses markup. Fetches nothing, and resolves no entities but those of HTML and numeric ones; entities that a file
 * declares stay as they are.
 * @throws UnreadableDocumentError if elements are nested too deeply: the cost of an element grows with its depth.
 */
export function readMarkup(bytes: Uint8Array, type: 'xml' | 'html', { open, text, close }: MarkupHandler): void {
  let depth = 0;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth++;
        if (depth > DOCUMENT_DEPTH_MAX)
          throw new UnreadableDocumentError(`has more than ${DOCUMENT_DEPTH_MAX} nested elements`);
        open?.(removePrefix(name), attributes);
      },
      ontext: (piece) => text?.(piece),
      onclosetag(name) {
        depth--;
        close?.(removePrefix(name));
      },
    },
    { xmlMode: type === 'xml', decodeEntities: true },
  );
  const head = Buffer.from(bytes.subarray(0, DECLARATION_BYTES)).toString('latin1');
  const declared =
    (type === 'xml' ? XML_ENCODING : HTML_CHARSET).exec(head)?.[1] ?? (type === 'xml' ? 'utf-8' : undefined);
  for (const piece of decodeText(bytes, { declaredEncoding: declared })) parser.write(piece);
  parser.end();
}

const removePrefix = (name: string): string => name.slice(name.indexOf(':') + 1);

/** Returns an attribute by its name without prefix. */
export function getAttribute(attributes: Attributes, name: string): string | undefined {
  const value = attributes[name];
  if (value !== undefined) return value;
  const key = Object.keys(attributes).find((each) => each.endsWith(`:${name}`));
  return key === undefined ? undefined : attributes[key];
}
