import type { Flow } from '../flow.ts';
import { attributeOf, readMarkup } from '../read-markup.ts';
import type { Zip } from '../zip.ts';
import { mainPart, relatedPart, relationsOf } from './office-parts.ts';

const MAIN =
  /presentationml\.(?:presentation|slideshow|template)\.main\+xml|ms-powerpoint\.(?:presentation|slideshow|template)\.macroEnabled/;

/** Slides in their order, each with its number, and what its speaker has noted. */
export function readPptx(zip: Zip, flow: Flow): void {
  const main = mainPart(zip, MAIN);
  const relations = relationsOf(zip, main);
  const order: string[] = [];
  readMarkup(zip.read(main), 'xml', {
    open(name, attributes) {
      const target = name === 'sldId' ? relations.get(attributes['r:id'] ?? '')?.target : undefined;
      if (target !== undefined && zip.has(target)) order.push(target);
    },
  });
  for (const [index, part] of order.entries()) {
    flow.gap();
    flow.say(`# Slide ${index + 1}`);
    flow.gap();
    readSlide(zip.read(part), flow);
    const notes = relatedPart(relationsOf(zip, part), zip, 'notesSlide');
    if (notes !== undefined) {
      flow.gap();
      flow.mark('Notes: ');
      readSlide(zip.read(notes), flow);
    }
  }
}

function readSlide(bytes: Uint8Array, flow: Flow): void {
  let isText = false;
  let silent = 0;
  readMarkup(bytes, 'xml', {
    open(name, attributes) {
      const isNumber = name === 'fld' && attributeOf(attributes, 'type') === 'slidenum';
      if (silent > 0 || name === 'Fallback' || isNumber) silent++;
      else if (name === 'tbl') flow.gap();
      else if (name === 'tr') flow.beginRow();
      else if (name === 'tc') flow.beginCell();
      else if (name === 'br') flow.line();
      else if (name === 't') isText = true;
    },
    text(text) {
      if (isText && silent === 0) flow.say(text);
    },
    close(name) {
      if (silent > 0) silent--;
      else if (name === 't') isText = false;
      else if (name === 'p') flow.line();
      else if (name === 'tr') flow.endRow();
      else if (name === 'tbl') flow.gap();
    },
  });
}
