import { markdownToLine } from './markdown-to-blocks.ts';

/**
 * Turns a text into a title or heading: one line, no markup, no final punctuation. Returns undefined when nothing
 * remains.
 */
export function cleanHeading(text: string, charactersMax: number): string | undefined {
  const line = markdownToLine(text.replaceAll(/\s+/g, ' '))
    .replaceAll(/[[\]【】<>|`*#{}_\\]/g, '')
    .replace(/^\s*(?:\d{1,2}[.)、]|[-–•])\s*/, '')
    .replace(/[\s.。!！?？:：;；,，、]+$/u, '')
    .trim();
  if (!/[\p{L}\p{N}]/u.test(line)) return undefined;
  if (line.length <= charactersMax) return capitalizeFirstWord(line);
  const truncated = line.slice(0, charactersMax).toWellFormed();
  // Cut at a word boundary in scripts with spaces.
  return capitalizeFirstWord(
    truncated.includes(' ') ? truncated.slice(0, truncated.lastIndexOf(' ')).trim() : truncated,
  );
}

/** Capitalizes the first word unless it is a name with inner capitals or dots, such as `iPhone` or `node.js`. */
const capitalizeFirstWord = (line: string): string =>
  /^\p{Ll}[\p{Ll}-]+(?:\s|$)/u.test(line) ? line.charAt(0).toUpperCase() + line.slice(1) : line;
