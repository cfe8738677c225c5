import { plainLine } from './plain-blocks.ts';

/** A phrase for a title or a heading: in one line, without marks, not a sentence; undefined where nothing is left of it. */
export function headingOf(text: string, charactersMax: number): string | undefined {
  const line = plainLine(text.replaceAll(/\s+/g, ' '))
    .replaceAll(/[[\]【】<>|`*#{}_\\]/g, '')
    .replace(/^\s*(?:\d{1,2}[.)、]|[-–•])\s*/, '')
    .replace(/[\s.。!！?？:：;；,，、]+$/u, '')
    .trim();
  if (!/[\p{L}\p{N}]/u.test(line)) return undefined;
  if (line.length <= charactersMax) return begun(line);
  const cut = line.slice(0, charactersMax).toWellFormed();
  // Not within a word, in writing that has blanks.
  return begun(cut.includes(' ') ? cut.slice(0, cut.lastIndexOf(' ')).trim() : cut);
}

/** With a capital, where its first word is no name that is written without one, such as `iPhone` or `node.js`. */
const begun = (line: string): string =>
  /^\p{Ll}[\p{Ll}-]+(?:\s|$)/u.test(line) ? line.charAt(0).toUpperCase() + line.slice(1) : line;
