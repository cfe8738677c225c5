import type { TextSink } from '../text-sink.ts';
import { getAttribute, readMarkup } from '../read-markup.ts';
import type { ZipArchive } from '../zip.ts';
import { isToggleOn, findMainPart, findRelatedPart, readRelationships } from './office-parts.ts';
import { type DateStyles, readDateStyles, formatDateCell } from './xlsx-dates.ts';

const MAIN_PART_TYPE = /spreadsheetml\.(?:sheet|template)\.main\+xml|ms-excel\.(?:sheet|template|addin)\.macroEnabled/;

/** Maximum number of tabs for consecutive empty cells in a row; longer gaps are shortened. */
const CELL_GAP_MAX = 100;

/** Reads each sheet under its name, rows as lines with tabs. Formulas appear as their last computed value. */
export function readXlsx(zip: ZipArchive, sink: Pick<TextSink, 'push'>): void {
  const main = findMainPart(zip, MAIN_PART_TYPE);
  const relations = readRelationships(zip, main);
  const sharedPart = findRelatedPart(relations, zip, 'sharedStrings');
  const stylesPart = findRelatedPart(relations, zip, 'styles');
  const strings = sharedPart === undefined ? [] : readSharedStrings(zip.read(sharedPart));
  const { sheets, isFrom1904 } = readWorkbook(zip.read(main));
  const dates = readDateStyles(stylesPart === undefined ? undefined : zip.read(stylesPart), { isFrom1904 });
  let isFirst = true;
  for (const { name, relation } of sheets) {
    const target = relations.get(relation)?.target;
    if (target === undefined || !zip.has(target)) continue;
    sink.push(`${isFirst ? '' : '\n'}# ${name}\n`);
    isFirst = false;
    readSheet(zip.read(target), sink, { strings, dates });
  }
}

function readWorkbook(bytes: Uint8Array): {
  readonly sheets: readonly { readonly name: string; readonly relation: string }[];
  readonly isFrom1904: boolean;
} {
  const sheets: { name: string; relation: string }[] = [];
  let isFrom1904 = false;
  readMarkup(bytes, 'xml', {
    open(name, attributes) {
      if (name === 'sheet')
        sheets.push({ name: attributes['name'] ?? '', relation: getAttribute(attributes, 'id') ?? '' });
      const { date1904 } = attributes;
      if (name === 'workbookPr' && date1904 !== undefined) isFrom1904 = isToggleOn({ val: date1904 });
    },
  });
  return { sheets, isFrom1904 };
}

function readSharedStrings(bytes: Uint8Array): readonly string[] {
  const strings: string[] = [];
  let text = '';
  let isText = false;
  let isReading = true;
  readMarkup(bytes, 'xml', {
    open(name) {
      if (name === 'si') text = '';
      else if (name === 't') isText = true;
      // Phonetic hints are not part of the text.
      else if (name === 'rPh') isReading = false;
    },
    text(piece) {
      if (isText && isReading) text += piece;
    },
    close(name) {
      if (name === 'si') strings.push(text);
      else if (name === 't') isText = false;
      else if (name === 'rPh') isReading = true;
    },
  });
  return strings;
}

interface SheetContext {
  readonly strings: readonly string[];
  readonly dates: DateStyles;
}

function readSheet(bytes: Uint8Array, sink: Pick<TextSink, 'push'>, { strings, dates }: SheetContext): void {
  let column = 0;
  let lastColumn = 0;
  let type = '';
  let style = 0;
  let value = '';
  let isValue = false;

  const formatCell = (): string => {
    if (type === 's') return strings[Number(value)] ?? '';
    if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
    return type === '' || type === 'n' ? (formatDateCell(value, style, dates) ?? value) : value;
  };

  readMarkup(bytes, 'xml', {
    open(name, attributes) {
      switch (name) {
        case 'row':
          column = 0;
          lastColumn = 0;
          return;
        case 'c':
          column = parseColumn(attributes['r']) ?? column + 1;
          type = attributes['t'] ?? '';
          style = Number(attributes['s'] ?? 0);
          value = '';
          return;
        case 'v':
        case 't':
          isValue = true;
          return;
      }
    },
    text(piece) {
      if (isValue) value += piece;
    },
    close(name) {
      switch (name) {
        case 'v':
        case 't':
          isValue = false;
          return;
        case 'c': {
          const text = value === '' ? '' : formatCell().replaceAll(/[\r\n\t]+/g, ' ');
          if (text === '') return;
          // Column 1 has no tab before it; other cells have one tab per column since the last cell.
          sink.push('\t'.repeat(Math.min(CELL_GAP_MAX, Math.max(0, column - Math.max(1, lastColumn)))) + text);
          lastColumn = column;
          return;
        }
        case 'row':
          if (lastColumn > 0) sink.push('\n');
          return;
      }
    },
  });
}

/** Returns the column number of a cell reference: 28 for `AB12`. */
function parseColumn(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  if (letters === undefined) return undefined;
  let column = 0;
  for (const letter of letters) column = column * 26 + (letter.charCodeAt(0) - 64);
  return column;
}
