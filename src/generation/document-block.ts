/**
 * Formats a document for a prompt: its text between tags that hold its name. The tag name occurs nowhere in the text,
 * so the text cannot end the block. The text is untrusted, so the function searches it once, however many tags it
 * contains.
 */
export function formatDocumentBlock(name: string, text: string): string {
  const usedNames = new Set(Array.from(text.matchAll(END_MARK), ([, mark = '']) => mark));
  let mark = 'document';
  for (let number = 2; usedNames.has(mark); number++) mark = `document-${number}`;
  return `<${mark} name="${escapeAttribute(name)}">\n${text.trim()}\n</${mark}>`;
}

/** Tag names with a number of more than nine digits are never generated, so they cannot collide. */
const END_MARK = /<\/(document(?:-\d{1,9})?)>/g;

/** Returns the prompt text that stands for a document that is no longer available. */
export const formatMissingDocumentNote = (reason: string): string =>
  `[A file stood here that is not available: ${reason}]`;

const escapeAttribute = (name: string): string => name.replaceAll(/["<>\p{Cc}]/gu, '_');
