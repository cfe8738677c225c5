import type { Message } from '../../core/message.ts';
import type { MemoryPair } from './memory.ts';
import type { Language } from './languages.ts';
import type { Term } from './terms.ts';

export interface InstructionParts {
  readonly source: Language | undefined;
  readonly target: Language;
  /** What is translated. */
  readonly text: string;
  /** The text has marks such as [1]. */
  readonly hasMarks: boolean;
  readonly terms: readonly Term[];
  /** Wordings that stand in the text, in brackets behind their term. */
  readonly hasWordings: boolean;
  /** Words that stand in the text and are to stay as they are. */
  readonly kept: readonly string[];
  /** An answer was empty or the text itself. */
  readonly isRepeated: boolean;
  readonly examples: readonly MemoryPair[];
  readonly domains: string | undefined;
}

/** What the model is told: how to translate, earlier translations as if it had made them, and the text alone. */
export function instructionFor(parts: InstructionParts): readonly Message[] {
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
    ...(parts.isRepeated ? [`Write every word in ${target.name}. Do not repeat the text, do not leave it out.`] : []),
    ...parts.kept.map((word) => `Keep "${word}" as it is.`),
  ];
  return [
    message('system', lines.join('\n')),
    ...examples.flatMap((pair) => [message('user', pair.source), message('assistant', pair.target)]),
    message('user', text),
  ];
}

const message = (role: Message['role'], text: string): Message => ({ role, content: [{ type: 'text', text }] });
