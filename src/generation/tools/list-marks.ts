import { splitMarks } from './split-enclosure.ts';
import { getNameKey, type ArgumentSyntax, type ToolFormat } from './tool-formats.ts';

export interface ListMarksOptions {
  readonly specialTokens: readonly string[];
  /** Texts that are not the start of a call, although they may contain the same tags. */
  readonly otherTexts: readonly string[];
}

/** Lists the marks of a format: those that start a call, may follow one, or are special tokens. */
export function listMarks(
  {
    begin,
    before,
    between,
    after,
    separator,
    end,
    arguments: syntax,
  }: Omit<ToolFormat, 'openings' | 'closings' | 'markers'>,
  { specialTokens, otherTexts }: ListMarksOptions,
): Pick<ToolFormat, 'openings' | 'closings' | 'markers'> {
  const texts = [begin, before, between, after, separator, end, ...(syntax ? listSyntaxTexts(syntax) : [])];
  return {
    openings: [...new Set([...findFirstMark(begin + before, otherTexts), ...findFirstMark(before, otherTexts)])],
    // The end of an object is taken with the call.
    closings: splitClosings(`${getNameKey({ before }) === undefined ? after : after.replace(/^[^}]*\}/, '')} ${end}`),
    markers: specialTokens.filter((token) => texts.some((text) => text.includes(token))),
  };
}

/** Splits the text after calls into words and tags: a model may write only some of them. */
export const splitClosings = (text: string): string[] => text.match(/<[^<>\s]+>[^<>\s]*|[^<>\s]+|[<>]/g) ?? [];

/** Returns the tag or sign that a text starts with, and as much more as distinguishes it from other texts. */
function findFirstMark(text: string, otherTexts: readonly string[]): string[] {
  const start = text.trimStart();
  const [mark] = /^(<[^<>\s"'{]+>?|\[\/?[A-Z_]+\]|[^\w\s{}"'[]{2,})/.exec(start) ?? [];
  if (mark === undefined) return [];
  const more = splitMarks(start.slice(mark.length));
  return [
    more.reduce((whole, part) => (otherTexts.some((other) => other.includes(whole)) ? whole + part : whole), mark),
  ];
}

function listSyntaxTexts(syntax: ArgumentSyntax): readonly string[] {
  switch (syntax.type) {
    case 'json':
      return [];
    case 'tags':
      return [syntax.beforeKey, ...Object.values(syntax.text), ...Object.values(syntax.other)];
    case 'literals':
      return [syntax.quote];
  }
}
