import type { PromptSegment } from '../../core/prompt.ts';

/** How a model writes a thought and the answer after it. */
export interface ThoughtFormat {
  /** Text that opens a thought, without the blanks around it. */
  readonly open: string;
  /** Text that ends a thought, without the blanks around it. */
  readonly close: string;
  /** `open` and `close` with the blanks that the template writes around them. */
  readonly opening: string;
  readonly closing: string;
  /** Texts that may start an answer without being part of it. */
  readonly answerOpenings: readonly string[];
  /** Text that ends an answer without being part of it; empty when there is none. */
  readonly answerClose: string;
  /** Whether the template shows thoughts. Otherwise the marks are the usual ones. */
  readonly isShown: boolean;
}

/** Marks that most models use, also those whose template does not mention them. */
export const USUAL_THOUGHTS: ThoughtFormat = {
  open: '<think>',
  close: '</think>',
  opening: '<think>\n',
  closing: '\n</think>\n\n',
  answerOpenings: [],
  answerClose: '',
  isShown: false,
};

/**
 * State of thoughts at the end of a prompt. `opened`: the model continues a thought. `closed`: the template wrote an
 * empty thought, or the end of one, so that the model answers at once.
 */
export type PromptEnd = 'opened' | 'closed' | 'none';

export function findPromptEnd(prompt: string, { open, close }: Pick<ThoughtFormat, 'open' | 'close'>): PromptEnd {
  const text = prompt.trimEnd();
  if (text.endsWith(open)) return 'opened';
  return text.endsWith(close) ? 'closed' : 'none';
}

/** Returns the end of a prompt, which is long enough for a mark. */
export const getEndText = (prompt: readonly PromptSegment[]): string =>
  prompt
    .slice(-8)
    .map(({ text }) => text)
    .join('');

/**
 * Lists the texts that open a thought: after another thought, what stands before an answer also stands before a thought,
 * such as the role in `<|start|>assistant<|channel|>analysis<|message|>`.
 */
export function listOpenings({ open, answerOpenings }: Pick<ThoughtFormat, 'open' | 'answerOpenings'>): string[] {
  const [afterThought = '', first = ''] = answerOpenings;
  const isExtended = first !== '' && afterThought.endsWith(first);
  const tag = TAG_BEFORE_WORD.exec(open)?.[1];
  const isCommon = tag === undefined || answerOpenings.some((opening) => opening.includes(tag));
  return [open, ...(isExtended ? [afterThought.slice(0, -first.length) + open] : []), ...(isCommon ? [] : [tag])];
}

/** A special token before the name of a channel, which models leave out: `<|channel>thought`. */
const TAG_BEFORE_WORD = /^(<\|\w+>)\w+$/;

/** Returns all texts of a format, in which the vocabulary may have special tokens. */
export const listThoughtTexts = ({ open, close, answerOpenings, answerClose }: ThoughtFormat): readonly string[] => [
  open,
  close,
  ...answerOpenings,
  answerClose,
];
