import { getAttribute, readMarkup } from '../read-markup.ts';

/** Creates the markers before list items, such as `- ` and `1. `. */
export interface ListMarkers {
  /** Returns the marker of the next item with its indent, or '' for the id of no list. @param depth From 0. */
  createNext(id: string, depth: number): string;
}

const DEPTH_MAX = 8;

export function createListMarkers(numbering: Uint8Array | undefined): ListMarkers {
  /** Number formats by abstract list id and depth. */
  const formats = new Map<string, Map<number, string>>();
  const kindsByList = new Map<string, string>();
  if (numbering) readNumbering(numbering, formats, kindsByList);
  const counts = new Map<string, number[]>();

  return {
    createNext(id, depth) {
      if (id === '' || id === '0') return '';
      const level = Math.min(Math.max(0, Math.trunc(depth) || 0), DEPTH_MAX);
      const indent = '  '.repeat(level);
      const format = formats.get(kindsByList.get(id) ?? '')?.get(level);
      if (format === undefined || format === 'bullet' || format === 'none') return `${indent}- `;
      const counters = (counts.get(id) ?? []).slice(0, level + 1);
      counters[level] = (counters[level] ?? 0) + 1;
      counts.set(id, counters);
      return `${indent}${counters[level]}. `;
    },
  };
}

function readNumbering(
  numbering: Uint8Array,
  formats: Map<string, Map<number, string>>,
  kindsByList: Map<string, string>,
): void {
  let kind: string | undefined;
  let list: string | undefined;
  let depth = 0;
  readMarkup(numbering, 'xml', {
    open(name, attributes) {
      if (name === 'abstractNum') kind = getAttribute(attributes, 'abstractNumId');
      else if (name === 'lvl') depth = Number(getAttribute(attributes, 'ilvl') ?? 0);
      else if (name === 'numFmt' && kind !== undefined) {
        const levels = formats.get(kind) ?? new Map<number, string>();
        formats.set(kind, levels.set(depth, getAttribute(attributes, 'val') ?? 'bullet'));
      } else if (name === 'num') list = getAttribute(attributes, 'numId');
      else if (name === 'abstractNumId' && list !== undefined)
        kindsByList.set(list, getAttribute(attributes, 'val') ?? '');
    },
    close(name) {
      if (name === 'abstractNum') kind = undefined;
      else if (name === 'num') list = undefined;
    },
  });
}
