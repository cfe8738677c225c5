import type { Flow } from '../flow.ts';
import { attributeOf, readMarkup } from '../read-markup.ts';
import type { Zip } from '../zip.ts';
import { createListMarks, type ListMarks } from './docx-lists.ts';
import { type ParagraphStyle, paragraphStyles } from './docx-styles.ts';
import { isOn, mainPart, relatedPart, relationsOf } from './office-parts.ts';

const MAIN = /wordprocessingml\.(?:document|template)\.main\+xml|ms-word\.(?:document|template)\.macroEnabled/;

/** What was deleted or moved away; the old spelling of a drawing; links and page numbers as they are worked out. */
const SILENT = new Set(['del', 'moveFrom', 'Fallback', 'instrText', 'delText']);

/** A text document: its body, then its foot- and endnotes. Headers, footers, comments and hidden text are left out. */
export function readDocx(zip: Zip, flow: Flow): void {
  const main = mainPart(zip, MAIN);
  const relations = relationsOf(zip, main);
  const part = (type: string): Uint8Array | undefined => {
    const name = relatedPart(relations, zip, type);
    return name === undefined ? undefined : zip.read(name);
  };
  const styles = paragraphStyles(part('styles'));
  const lists = createListMarks(part('numbering'));
  readBody(zip.read(main), flow, { styles, lists });
  for (const type of ['footnotes', 'endnotes']) {
    const notes = part(type);
    if (notes) readBody(notes, flow, { styles, lists });
  }
}

interface Looks {
  readonly styles: ReadonlyMap<string, ParagraphStyle>;
  readonly lists: ListMarks;
}

/** Blocks of the body, or of notes, each of which has its number before it. */
function readBody(bytes: Uint8Array, flow: Flow, { styles, lists }: Looks): void {
  let silent = 0;
  let isHidden = false;
  let isText = false;
  let style: ParagraphStyle | undefined;
  let level: number | undefined;
  let list: { readonly id: string | undefined; readonly depth: number | undefined } | undefined;
  let isInRun = false;

  readMarkup(bytes, 'xml', {
    open(name, attributes) {
      if (silent > 0 || SILENT.has(name) || isSeparator(name, attributes)) {
        silent++;
        return;
      }
      switch (name) {
        case 'p':
          flow.line();
          style = undefined;
          level = undefined;
          list = undefined;
          return;
        case 'pStyle':
          style = styles.get(attributeOf(attributes, 'val') ?? '');
          return;
        case 'outlineLvl':
          level ??= outlineLevel(attributeOf(attributes, 'val'));
          return;
        case 'numId':
          list = { depth: list?.depth, id: attributeOf(attributes, 'val') ?? '' };
          return;
        case 'ilvl':
          list = { id: list?.id, depth: Number(attributeOf(attributes, 'val') ?? 0) };
          return;
        case 'r':
          isInRun = true;
          isHidden = false;
          return;
        case 'vanish':
          // That of a paragraph's mark hides the mark alone.
          if (isInRun) isHidden = isOn(attributes);
          return;
        case 't':
          isText = true;
          return;
        case 'tab':
          // The same word stands among the stops of a paragraph.
          if (isInRun && !isHidden) flow.say('\t');
          return;
        case 'br':
        case 'cr':
          if (!isHidden) flow.line();
          return;
        case 'noBreakHyphen':
          if (!isHidden) flow.say('-');
          return;
        case 'footnoteReference':
        case 'endnoteReference':
          if (!isHidden) flow.say(noteMark(name, attributeOf(attributes, 'id')));
          return;
        case 'footnote':
        case 'endnote':
          flow.line();
          flow.say(`${noteMark(name, attributeOf(attributes, 'id'))} `);
          return;
        case 'tbl':
          return flow.gap();
        case 'tr':
          return flow.beginRow();
        case 'tc':
          return flow.beginCell();
      }
    },
    text(text) {
      if (silent === 0 && isText && !isHidden) flow.say(text);
    },
    close(name) {
      if (silent > 0) {
        silent--;
        return;
      }
      switch (name) {
        case 'pPr':
          level ??= style?.level;
          if (level !== undefined) {
            flow.gap();
            flow.mark(`${'#'.repeat(level)} `);
          } else flow.mark(lists.next(list?.id ?? style?.list ?? '', list?.depth ?? 0));
          return;
        case 'r':
          isInRun = false;
          isHidden = false;
          return;
        case 't':
          isText = false;
          return;
        case 'p':
          if (level === undefined) flow.line();
          else flow.gap();
          return;
        case 'tr':
          return flow.endRow();
        case 'tbl':
          return flow.gap();
      }
    },
  });
}

/** Notes that are nothing but the line above the notes of a page. */
const isSeparator = (name: string, attributes: Readonly<Record<string, string>>): boolean =>
  (name === 'footnote' || name === 'endnote') && /separator/i.test(attributeOf(attributes, 'type') ?? '');

const noteMark = (name: string, id = ''): string => `[${name.startsWith('foot') ? '^' : '^e'}${id}]`;

/** Counted from 0; 9 is none. */
function outlineLevel(value: string | undefined): number | undefined {
  const level = Number(value ?? 9);
  return level >= 0 && level < 6 ? level + 1 : undefined;
}
