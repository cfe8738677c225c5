import type { TextLayout } from '../text-layout.ts';
import { getAttribute, readMarkup } from '../read-markup.ts';
import type { ZipArchive } from '../zip.ts';
import { createListMarkers, type ListMarkers } from './docx-lists.ts';
import { type ParagraphStyle, readParagraphStyles } from './docx-styles.ts';
import { isToggleOn, findMainPart, findRelatedPart, readRelationships } from './office-parts.ts';

const MAIN_PART_TYPE =
  /wordprocessingml\.(?:document|template)\.main\+xml|ms-word\.(?:document|template)\.macroEnabled/;

/** Deleted and moved text, the fallback of a drawing, and field codes. */
const SKIPPED_ELEMENTS = new Set(['del', 'moveFrom', 'Fallback', 'instrText', 'delText']);

/** Reads the body, then footnotes and endnotes. Leaves out headers, footers, comments and hidden text. */
export function readDocx(zip: ZipArchive, layout: TextLayout): void {
  const main = findMainPart(zip, MAIN_PART_TYPE);
  const relations = readRelationships(zip, main);
  const readPart = (type: string): Uint8Array | undefined => {
    const name = findRelatedPart(relations, zip, type);
    return name === undefined ? undefined : zip.read(name);
  };
  const styles = readParagraphStyles(readPart('styles'));
  const lists = createListMarkers(readPart('numbering'));
  readBody(zip.read(main), layout, { styles, lists });
  for (const type of ['footnotes', 'endnotes']) {
    const notes = readPart(type);
    if (notes) readBody(notes, layout, { styles, lists });
  }
}

interface ParagraphFormats {
  readonly styles: ReadonlyMap<string, ParagraphStyle>;
  readonly lists: ListMarkers;
}

/** Reads the blocks of the body or of notes. Each note starts with its number. */
function readBody(bytes: Uint8Array, layout: TextLayout, { styles, lists }: ParagraphFormats): void {
  let skippedDepth = 0;
  let isHidden = false;
  let isText = false;
  let style: ParagraphStyle | undefined;
  let level: number | undefined;
  let list: { readonly id: string | undefined; readonly depth: number | undefined } | undefined;
  let isInRun = false;

  readMarkup(bytes, 'xml', {
    open(name, attributes) {
      if (skippedDepth > 0 || SKIPPED_ELEMENTS.has(name) || isSeparator(name, attributes)) {
        skippedDepth++;
        return;
      }
      switch (name) {
        case 'p':
          layout.startLine();
          style = undefined;
          level = undefined;
          list = undefined;
          return;
        case 'pStyle':
          style = styles.get(getAttribute(attributes, 'val') ?? '');
          return;
        case 'outlineLvl':
          level ??= parseOutlineLevel(getAttribute(attributes, 'val'));
          return;
        case 'numId':
          list = { depth: list?.depth, id: getAttribute(attributes, 'val') ?? '' };
          return;
        case 'ilvl':
          list = { id: list?.id, depth: Number(getAttribute(attributes, 'val') ?? 0) };
          return;
        case 'r':
          isInRun = true;
          isHidden = false;
          return;
        case 'vanish':
          // In paragraph properties, `vanish` hides the paragraph mark only.
          if (isInRun) isHidden = isToggleOn(attributes);
          return;
        case 't':
          isText = true;
          return;
        case 'tab':
          // Tab stops of a paragraph have the same element name.
          if (isInRun && !isHidden) layout.addText('\t');
          return;
        case 'br':
        case 'cr':
          if (!isHidden) layout.startLine();
          return;
        case 'noBreakHyphen':
          if (!isHidden) layout.addText('-');
          return;
        case 'footnoteReference':
        case 'endnoteReference':
          if (!isHidden) layout.addText(formatNoteMark(name, getAttribute(attributes, 'id')));
          return;
        case 'footnote':
        case 'endnote':
          layout.startLine();
          layout.addText(`${formatNoteMark(name, getAttribute(attributes, 'id'))} `);
          return;
        case 'tbl':
          return layout.startBlock();
        case 'tr':
          return layout.startRow();
        case 'tc':
          return layout.startCell();
      }
    },
    text(text) {
      if (skippedDepth === 0 && isText && !isHidden) layout.addText(text);
    },
    close(name) {
      if (skippedDepth > 0) {
        skippedDepth--;
        return;
      }
      switch (name) {
        case 'pPr':
          level ??= style?.level;
          if (level !== undefined) {
            layout.startBlock();
            layout.setPrefix(`${'#'.repeat(level)} `);
          } else layout.setPrefix(lists.createNext(list?.id ?? style?.list ?? '', list?.depth ?? 0));
          return;
        case 'r':
          isInRun = false;
          isHidden = false;
          return;
        case 't':
          isText = false;
          return;
        case 'p':
          if (level === undefined) layout.startLine();
          else layout.startBlock();
          return;
        case 'tr':
          return layout.endRow();
        case 'tbl':
          return layout.startBlock();
      }
    },
  });
}

/** Whether the note is only the separator line above the notes of a page. */
const isSeparator = (name: string, attributes: Readonly<Record<string, string>>): boolean =>
  (name === 'footnote' || name === 'endnote') && /separator/i.test(getAttribute(attributes, 'type') ?? '');

const formatNoteMark = (name: string, id = ''): string => `[${name.startsWith('foot') ? '^' : '^e'}${id}]`;

/** Parses an outline level: counted from 0, and 9 means none. */
function parseOutlineLevel(value: string | undefined): number | undefined {
  const level = Number(value ?? 9);
  return level >= 0 && level < 6 ? level + 1 : undefined;
}
