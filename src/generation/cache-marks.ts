import { randomBytes } from 'node:crypto';
import type { Message, ContentPart } from '../core/message.ts';
import type { PromptSegment } from '../core/prompt.ts';

/**
 * Renders a prompt and marks the segments at which the cached parts of the messages end. A template may change texts
 * in any way, so the function renders twice: without markers, and with a random marker after each part that has
 * `cache`. If the markers change anything else in the prompt, it returns the plain rendering without cache marks.
 */
export function renderWithCacheMarks(
  messages: readonly Message[],
  render: (messages: readonly Message[]) => PromptSegment[],
): PromptSegment[] {
  const plain = render(messages);
  if (!messages.some(({ content }) => content.some(isMarked))) return plain;
  const secret = randomBytes(8).toString('hex');
  let markerCount = 0;
  const marked = messages.map((message) => insertMarkers(message, () => `\uFDD2${secret}-${markerCount++}\uFDD3`));
  const split = splitAtMarkers(render(marked), new RegExp(`\uFDD2${secret}-(\\d+)\uFDD3`, 'g'));
  return isSamePrompt(split, plain) ? split : plain;
}

const isMarked = (part: ContentPart): boolean => part.type === 'text' && part.cache !== undefined;

/** Inserts a marker after each part with `cache`, before the part's trailing blanks: templates trim those. */
function insertMarkers(message: Message, createMarker: () => string): Message {
  const content = [...message.content];
  for (const [at, part] of message.content.entries()) {
    if (!isMarked(part)) continue;
    const textIndex = content.findLastIndex(
      (before, index) => index <= at && before.type === 'text' && before.text.trim() !== '',
    );
    const textPart = content[textIndex];
    if (textPart?.type !== 'text') continue;
    const end = textPart.text.trimEnd().length;
    content[textIndex] = { ...textPart, text: textPart.text.slice(0, end) + createMarker() + textPart.text.slice(end) };
  }
  return { ...message, content };
}

/** Splits segments at the markers. A text that the template repeats is marked at its last occurrence. */
function splitAtMarkers(segments: readonly PromptSegment[], markerPattern: RegExp): PromptSegment[] {
  const pieces: PromptSegment[] = [];
  const ends = new Map<string | undefined, number>();
  for (const { text, special } of segments) {
    let from = 0;
    const pushText = (until?: number): void => {
      if (from !== (until ?? text.length)) pieces.push({ text: text.slice(from, until), special });
    };
    for (const match of text.matchAll(markerPattern)) {
      pushText(match.index);
      ends.set(match[1], pieces.length - 1);
      from = match.index + match[0].length;
    }
    pushText();
  }
  const marked = new Set(ends.values());
  return pieces.map((segment, at) => (marked.has(at) ? { ...segment, cacheMark: true } : segment));
}

function isSamePrompt(a: readonly PromptSegment[], b: readonly PromptSegment[]): boolean {
  const [left, right] = [joinTextSegments(a), joinTextSegments(b)];
  return (
    left.length === right.length &&
    left.every(({ text, special }, at) => text === right[at]?.text && special === right[at].special)
  );
}

/** Joins neighboring segments that are not special into one. */
function joinTextSegments(segments: readonly PromptSegment[]): { text: string; special: boolean }[] {
  const joined: { text: string; special: boolean }[] = [];
  for (const { text, special } of segments) {
    const last = joined.at(-1);
    if (last && !last.special && !special) last.text += text;
    else if (text !== '') joined.push({ text, special });
  }
  return joined;
}
