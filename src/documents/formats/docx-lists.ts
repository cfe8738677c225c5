import { attributeOf, readMarkup } from '../read-markup.ts';

/** What stands before the items of lists. */
export interface ListMarks {
  /** Of the next item, with its indent; '' where it is of no list. @param depth From 0. */
  next(id: string, depth: number): string;
}

const DEPTH_MAX = 8;

export function createListMarks(numbering: Uint8Array | undefined): ListMarks {
  /** Of each kind of list, by its depth, what its items are counted in. */
  const formats = new Map<string, Map<number, string>>();
  const kinds = new Map<string, string>();
  if (numbering) readNumbering(numbering, formats, kinds);
  const counts = new Map<string, number[]>();

  return {
    next(id, depth) {
      if (id === '' || id === '0') return '';
      const at = Math.min(Math.max(0, Math.trunc(depth) || 0), DEPTH_MAX);
      const indent = '  '.repeat(at);
      const format = formats.get(kinds.get(id) ?? '')?.get(at);
      if (format === undefined || format === 'bullet' || format === 'none') return `${indent}- `;
      const counted = (counts.get(id) ?? []).slice(0, at + 1);
      counted[at] = (counted[at] ?? 0) + 1;
      counts.set(id, counted);
      return `${indent}${counted[at]}. `;
    },
  };
}

function readNumbering(
  numbering: Uint8Array,
  formats: Map<string, Map<number, string>>,
  kinds: Map<string, string>,
): void {
  let kind: string | undefined;
  let list: string | undefined;
  let depth = 0;
  readMarkup(numbering, 'xml', {
    open(name, attributes) {
      if (name === 'abstractNum') kind = attributeOf(attributes, 'abstractNumId');
      else if (name === 'lvl') depth = Number(attributeOf(attributes, 'ilvl') ?? 0);
      else if (name === 'numFmt' && kind !== undefined) {
        const own = formats.get(kind) ?? new Map<number, string>();
        formats.set(kind, own.set(depth, attributeOf(attributes, 'val') ?? 'bullet'));
      } else if (name === 'num') list = attributeOf(attributes, 'numId');
      else if (name === 'abstractNumId' && list !== undefined) kinds.set(list, attributeOf(attributes, 'val') ?? '');
    },
    close(name) {
      if (name === 'abstractNum') kind = undefined;
      else if (name === 'num') list = undefined;
    },
  });
}
