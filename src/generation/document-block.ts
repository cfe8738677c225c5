/**
 * A document as a model is told it: its text between two marks that name it. The marks are such that the text has none
 * of them, so it cannot end before its end.
 */
export function documentBlock(name: string, text: string): string {
  let mark = 'document';
  for (let number = 2; text.includes(`</${mark}>`); number++) mark = `document-${number}`;
  return `<${mark} name="${attribute(name)}">\n${text.trim()}\n</${mark}>`;
}

/** What stands in the place of one that cannot be read any more. */
export const documentNote = (why: string): string => `[A file stood here that is not available: ${why}]`;

const attribute = (name: string): string => name.replaceAll(/["<>\p{Cc}]/gu, '_');
