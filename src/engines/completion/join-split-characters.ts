import type { TokenLogprob } from '../../core/event.ts';

/** A character has at most four bytes, and so at most four tokens. */
const TOKENS_PER_CHARACTER_MAX = 4;

/**
 * Gives each character that spans several tokens to the last of them; the others get no text. A server that decodes each
 * token by itself reports U+FFFD for a part of a character, so that its tokens do not add up to the text of the prompt.
 * Parts that form no character keep U+FFFD.
 * @param options `ids`: the tokens' ids, one per entry. `decodeTokenLists`: returns the text of each list of ids.
 */
export async function joinSplitCharacters(
  entries: readonly TokenLogprob[],
  {
    ids,
    decodeTokenLists,
  }: {
    readonly ids: readonly number[];
    readonly decodeTokenLists: (lists: readonly (readonly number[])[]) => Promise<readonly string[]>;
  },
): Promise<readonly TokenLogprob[]> {
  const windows = findWindows(entries);
  if (windows.length === 0) return entries;
  const decoded = await decodeTokenLists(windows.map(({ from, last }) => ids.slice(from, last + 1)));
  const texts = entries.map(({ token }) => token);
  let next = 0;
  for (const [at, { from, last }] of windows.entries()) {
    const text = decoded[at];
    // A window that starts inside a character, or ends inside one, is not clean.
    if (text === undefined || from < next || isSplit(text)) continue;
    texts.fill('', from, last);
    texts[last] = text;
    next = last + 1;
  }
  return entries.map((entry, at) => replaceText(entry, texts[at] ?? ''));
}

/** Finds the series of tokens that may form a character, in the order of their last tokens. */
function findWindows(entries: readonly TokenLogprob[]): readonly { readonly from: number; readonly last: number }[] {
  const windows: { from: number; last: number }[] = [];
  let runStart = 0;
  for (const [last, { token }] of entries.entries()) {
    if (!isSplit(token)) runStart = last + 1;
    for (let from = last - 1; from >= runStart && last - from < TOKENS_PER_CHARACTER_MAX; from--)
      windows.push({ from, last });
  }
  return windows;
}

const isSplit = (text: string): boolean => text.includes('\uFFFD');

const encoder = new TextEncoder();

/** Replaces the text of a token, also where it is among its own alternatives. */
function replaceText(entry: TokenLogprob, text: string): TokenLogprob {
  if (text === entry.token) return entry;
  const replacement = { token: text, bytes: [...encoder.encode(text)] };
  return {
    ...entry,
    ...replacement,
    top: entry.top.map((one) =>
      one.token === entry.token && one.logprob === entry.logprob ? { ...one, ...replacement } : one,
    ),
  };
}
