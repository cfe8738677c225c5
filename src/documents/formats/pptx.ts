import type { TextLayout } from '../text-layout.ts';
import { getAttribute, readMarkup } from '../read-markup.ts';
import type { ZipArchive } from '../zip.ts';
import { findMainPart, findRelatedPart, readRelationships } from './office-parts.ts';

const MAIN_PART_TYPE =
  /presentationml\.(?:presentation|slideshow|template)\.main\+xml|ms-powerpoint\.(?:presentation|slideshow|template)\.macroEnabled/;

/** Reads the slides in order, each with its number and its speaker notes. */
export function readPptx(zip: ZipArchive, layout: TextLayout): void {
  const main = findMainPart(zip, MAIN_PART_TYPE);
  const relations = readRelationships(zip, main);
  const slideParts: string[] = [];
  readMarkup(zip.read(main), 'xml', {
    open(name, attributes) {
      const target = name === 'sldId' ? relations.get(attributes['r:id'] ?? '')?.target : undefined;
      if (target !== undefined && zip.has(target)) slideParts.push(target);
    },
  });
  for (const [index, part] of slideParts.entries()) {
    layout.startBlock();
    layout.addText(`# Slide ${index + 1}`);
    layout.startBlock();
    readSlide(zip.read(part), layout);
    const notes = findRelatedPart(readRelationships(zip, part), zip, 'notesSlide');
    if (notes !== undefined) {
      layout.startBlock();
      layout.setPrefix('Notes: ');
      readSlide(zip.read(notes), layout);
    }
  }
}

function readSlide(bytes: Uint8Array, layout: TextLayout): void {
  let isText = false;
  let skippedDepth = 0;
  readMarkup(bytes, 'xml', {
    open(name, attributes) {
      const isNumber = name === 'fld' && getAttribute(attributes, 'type') === 'slidenum';
      if (skippedDepth > 0 || name === 'Fallback' || isNumber) skippedDepth++;
      else if (name === 'tbl') layout.startBlock();
      else if (name === 'tr') layout.startRow();
      else if (name === 'tc') layout.startCell();
      else if (name === 'br') layout.startLine();
      else if (name === 't') isText = true;
    },
    text(text) {
      if (isText && skippedDepth === 0) layout.addText(text);
    },
    close(name) {
      if (skippedDepth > 0) skippedDepth--;
      else if (name === 't') isText = false;
      else if (name === 'p') layout.startLine();
      else if (name === 'tr') layout.endRow();
      else if (name === 'tbl') layout.startBlock();
    },
  });
}
