import { Parser } from 'htmlparser2';
import { DOCUMENT_DEPTH_MAX } from '../core/limits.ts';
import { decodeText } from './decode-text.ts';
import { Unreadable } from './unreadable.ts';

export type Attributes = Readonly<Record<string, string>>;

/** What is met on the way through a page or an XML file. Names are without their prefix. */
export interface MarkupHandler {
  open?(name: string, attributes: Attributes): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** Bytes at whose beginning an encoding may be declared. */
const DECLARATION_BYTES = 1024;

const IN_XML = /^<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']/;
const IN_HTML = /<meta\s[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i;

/**
 * Reads markup from its beginning to its end. Nothing it refers to is fetched, and no entity is known but those of HTML and
 * the numbered ones: what a file declares of its own stays as it was written.
 * @throws Unreadable where its elements are nested too deep: each costs as much as there are around it.
 */
export function readMarkup(bytes: Uint8Array, type: 'xml' | 'html', { open, text, close }: MarkupHandler): void {
  let depth = 0;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth++;
        if (depth > DOCUMENT_DEPTH_MAX)
          throw new Unreadable(`has more than ${DOCUMENT_DEPTH_MAX} elements inside each other`);
        open?.(plainName(name), attributes);
      },
      ontext: (piece) => text?.(piece),
      onclosetag(name) {
        depth--;
        close?.(plainName(name));
      },
    },
    { xmlMode: type === 'xml', decodeEntities: true },
  );
  const head = Buffer.from(bytes.subarray(0, DECLARATION_BYTES)).toString('latin1');
  const declared = (type === 'xml' ? IN_XML : IN_HTML).exec(head)?.[1] ?? (type === 'xml' ? 'utf-8' : undefined);
  for (const piece of decodeText(bytes, { declared })) parser.write(piece);
  parser.end();
}

const plainName = (name: string): string => name.slice(name.indexOf(':') + 1);

/** An attribute by its name without prefix. */
export function attributeOf(attributes: Attributes, name: string): string | undefined {
  const own = attributes[name];
  if (own !== undefined) return own;
  const key = Object.keys(attributes).find((each) => each.endsWith(`:${name}`));
  return key === undefined ? undefined : attributes[key];
}
