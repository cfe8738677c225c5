import { randomBytes } from 'node:crypto';
import type { Message, Part } from '../core/message.ts';
import type { PromptSegment } from '../core/prompt.ts';

/**
 * A prompt that says how far each part with `cache` reaches. A template may do anything with a text, so each such part
 * gets a sign that nobody can write, the prompt is rendered with and without, and the signs are looked for. Where they
 * change anything else, the prompt without them is the one that counts, and nothing is marked.
 */
export function withCacheMarks(
  messages: readonly Message[],
  render: (messages: readonly Message[]) => PromptSegment[],
): PromptSegment[] {
  const plain = render(messages);
  if (!messages.some(({ content }) => content.some(isMarked))) return plain;
  const secret = randomBytes(8).toString('hex');
  let signs = 0;
  const marked = messages.map((message) => signParts(message, () => `\uFDD2${secret}-${signs++}\uFDD3`));
  const cut = cutAtSigns(render(marked), new RegExp(`\uFDD2${secret}-(\\d+)\uFDD3`, 'g'));
  return isSamePrompt(cut, plain) ? cut : plain;
}

const isMarked = (part: Part): boolean => part.type === 'text' && part.cache !== undefined;

/** Signs stand before the blanks that end a text: templates take those away. */
function signParts(message: Message, newSign: () => string): Message {
  const content = [...message.content];
  for (const [at, part] of message.content.entries()) {
    if (!isMarked(part)) continue;
    const place = content.findLastIndex(
      (before, index) => index <= at && before.type === 'text' && before.text.trim() !== '',
    );
    const said = content[place];
    if (said?.type !== 'text') continue;
    const end = said.text.trimEnd().length;
    content[place] = { ...said, text: said.text.slice(0, end) + newSign() + said.text.slice(end) };
  }
  return { ...message, content };
}

/** What a template repeats is marked where it stands last. */
function cutAtSigns(segments: readonly PromptSegment[], sign: RegExp): PromptSegment[] {
  const cut: PromptSegment[] = [];
  const ends = new Map<string | undefined, number>();
  for (const { text, special } of segments) {
    let from = 0;
    const take = (to?: number): void => {
      if (from !== (to ?? text.length)) cut.push({ text: text.slice(from, to), special });
    };
    for (const match of text.matchAll(sign)) {
      take(match.index);
      ends.set(match[1], cut.length - 1);
      from = match.index + match[0].length;
    }
    take();
  }
  const marked = new Set(ends.values());
  return cut.map((segment, at) => (marked.has(at) ? { ...segment, cacheMark: true } : segment));
}

function isSamePrompt(a: readonly PromptSegment[], b: readonly PromptSegment[]): boolean {
  const [left, right] = [joinPlain(a), joinPlain(b)];
  return (
    left.length === right.length &&
    left.every(({ text, special }, at) => text === right[at]?.text && special === right[at].special)
  );
}

/** Neighbouring plain segments are one text. */
function joinPlain(segments: readonly PromptSegment[]): { text: string; special: boolean }[] {
  const joined: { text: string; special: boolean }[] = [];
  for (const { text, special } of segments) {
    const last = joined.at(-1);
    if (last && !last.special && !special) last.text += text;
    else if (text !== '') joined.push({ text, special });
  }
  return joined;
}
