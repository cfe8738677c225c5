import type { Message } from '../../core/message.ts';
import type { MemoryPair } from './translation-memory.ts';
import type { Language } from './languages.ts';
import type { Term } from './terms.ts';

export interface InstructionParts {
  readonly source: Language | undefined;
  readonly target: Language;
  /** The text to translate. */
  readonly text: string;
  /** The text contains marks such as [1]. */
  readonly hasMarks: boolean;
  readonly terms: readonly Term[];
  /** The text contains required wordings in brackets after their terms. */
  readonly hasWordings: boolean;
  /** Words of the text that must stay as they are. */
  readonly keptWords: readonly string[];
  /** An earlier answer was empty or repeated the text. */
  readonly isRetry: boolean;
  /** Sentences about the faults of an earlier answer. */
  readonly corrections: readonly string[];
  readonly examples: readonly MemoryPair[];
  readonly domains: string | undefined;
}

/** Creates the prompt: the instruction, earlier translations as previous turns, and the text alone. */
export function createInstruction(parts: InstructionParts): readonly Message[] {
  const { source, target, text, examples } = parts;
  const from = source ? ` from ${source.name}` : '';
  const lines = [
    `You are a professional translator. Translate the user's text${from} into ${target.name}. Reply with the translation only.`,
    ...(parts.domains === undefined ? [] : [`Domain and style: ${parts.domains}`]),
    ...(parts.hasMarks ? ['Keep marks such as [1] where they belong.'] : []),
    ...parts.terms.map((term) => `Translate "${term.source}" as "${term.target}".`),
    ...(parts.hasWordings
      ? ['Words in parentheses are the translation that must be used for the words before them.']
      : []),
    ...(parts.isRetry ? [`Write every word in ${target.name}. Do not repeat the text, do not leave it out.`] : []),
    ...parts.keptWords.map((word) => `Keep "${word}" as it is.`),
    ...parts.corrections,
  ];
  return [
    createTextMessage('system', lines.join('\n')),
    ...examples.flatMap((pair) => [
      createTextMessage('user', pair.source),
      createTextMessage('assistant', pair.target),
    ]),
    createTextMessage('user', text),
  ];
}

const createTextMessage = (role: Message['role'], text: string): Message => ({
  role,
  content: [{ type: 'text', text }],
});
