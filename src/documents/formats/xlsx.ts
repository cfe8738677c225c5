import type { TextSink } from '../text-sink.ts';
import { attributeOf, readMarkup } from '../read-markup.ts';
import type { Zip } from '../zip.ts';
import { isOn, mainPart, relatedPart, relationsOf } from './office-parts.ts';
import { type DateStyles, readDateStyles, showDate } from './xlsx-dates.ts';

const MAIN = /spreadsheetml\.(?:sheet|template)\.main\+xml|ms-excel\.(?:sheet|template|addin)\.macroEnabled/;

/** Cells in a row without a value that become tabs. A row that has more of them is shortened: nobody counts columns so far out. */
const GAP_MAX = 100;

/** A workbook: each sheet under its name, its rows as lines with tabs, values as they were last worked out. */
export function readXlsx(zip: Zip, sink: Pick<TextSink, 'push'>): void {
  const main = mainPart(zip, MAIN);
  const relations = relationsOf(zip, main);
  const sharedPart = relatedPart(relations, zip, 'sharedStrings');
  const stylesPart = relatedPart(relations, zip, 'styles');
  const strings = sharedPart === undefined ? [] : readStrings(zip.read(sharedPart));
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
        sheets.push({ name: attributes['name'] ?? '', relation: attributeOf(attributes, 'id') ?? '' });
      const { date1904 } = attributes;
      if (name === 'workbookPr' && date1904 !== undefined) isFrom1904 = isOn({ val: date1904 });
    },
  });
  return { sheets, isFrom1904 };
}

function readStrings(bytes: Uint8Array): readonly string[] {
  const strings: string[] = [];
  let text = '';
  let isText = false;
  let isReading = true;
  readMarkup(bytes, 'xml', {
    open(name) {
      if (name === 'si') text = '';
      else if (name === 't') isText = true;
      // How a word is pronounced is no part of it.
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

interface Sheet {
  readonly strings: readonly string[];
  readonly dates: DateStyles;
}

function readSheet(bytes: Uint8Array, sink: Pick<TextSink, 'push'>, { strings, dates }: Sheet): void {
  let column = 0;
  let written = 0;
  let type = '';
  let style = 0;
  let value = '';
  let isValue = false;

  const shown = (): string => {
    if (type === 's') return strings[Number(value)] ?? '';
    if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
    return type === '' || type === 'n' ? (showDate(value, style, dates) ?? value) : value;
  };

  readMarkup(bytes, 'xml', {
    open(name, attributes) {
      switch (name) {
        case 'row':
          column = 0;
          written = 0;
          return;
        case 'c':
          column = columnOf(attributes['r']) ?? column + 1;
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
          const text = value === '' ? '' : shown().replaceAll(/[\r\n\t]+/g, ' ');
          if (text === '') return;
          // The first cell of a row is its first column; the tabs before a cell are those that it is away from the last.
          sink.push('\t'.repeat(Math.min(GAP_MAX, Math.max(0, column - Math.max(1, written)))) + text);
          written = column;
          return;
        }
        case 'row':
          if (written > 0) sink.push('\n');
          return;
      }
    },
  });
}

/** `AB12` is in the 28th. */
function columnOf(place: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(place ?? '')?.[0];
  if (letters === undefined) return undefined;
  let column = 0;
  for (const letter of letters) column = column * 26 + (letter.charCodeAt(0) - 64);
  return column;
}
