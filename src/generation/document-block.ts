/**
 * A document as a model is told it: its text between two marks that name it. The marks are such that the text has none
 * of them, so it cannot end before its end. The text is searched once, however many marks it has: it is somebody else's.
 */
export function documentBlock(name: string, text: string): string {
  const taken = new Set(Array.from(text.matchAll(END_MARK), ([, mark = '']) => mark));
  let mark = 'document';
  for (let number = 2; taken.has(mark); number++) mark = `document-${number}`;
  return `<${mark} name="${attribute(name)}">\n${text.trim()}\n</${mark}>`;
}

/** Longer numbers than a text of any size could ask for are none of ours. */
const END_MARK = /<\/(document(?:-\d{1,9})?)>/g;

/** What stands in the place of one that cannot be read any more. */
export const documentNote = (why: string): string => `[A file stood here that is not available: ${why}]`;

const attribute = (name: string): string => name.replaceAll(/["<>\p{Cc}]/gu, '_');
