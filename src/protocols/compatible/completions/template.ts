import type { TextPrompt } from '../../../core/request.ts';

interface Literals {
  readonly prefix: string;
  readonly suffix: string;
  readonly middle: string;
}

/** The specification's own words, whatever the model's tokens are called. */
const LITERALS: Literals = { prefix: '<|fim_prefix|>', suffix: '<|fim_suffix|>', middle: '<|fim_middle|>' };

/** What editors send to models whose names they do not know, or know for others'. */
const OTHERS: readonly Literals[] = [
  { prefix: '<fim_prefix>', suffix: '<fim_suffix>', middle: '<fim_middle>' },
  { prefix: '<｜fim▁begin｜>', suffix: '<｜fim▁hole｜>', middle: '<｜fim▁end｜>' },
];

/**
 * A prompt as the specification's two templates write it, or as it stands:
 *
 *   <|fim_prefix|>{prefix}<|fim_suffix|>
 *   <|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>
 *
 * A literal counts at its documented place only; anywhere else it is content. The first template's last literal is the one
 * at the very end. In the second the first `<|fim_suffix|>` ends the prefix, so a prefix that holds one has to be sent
 * with the field `suffix`. `<|fim_middle|>` at the end may be missing. In other spellings only the whole second template is
 * one, and all else is text.
 *
 * @returns undefined for what begins like one of the two and is none of them.
 */
export function readTemplate(prompt: string): TextPrompt | undefined {
  if (prompt.startsWith(LITERALS.suffix)) return undefined;
  if (prompt.startsWith(LITERALS.prefix)) return readPrefix(prompt) ?? readGap(prompt, LITERALS);
  for (const literals of OTHERS) {
    const gap = prompt.startsWith(literals.prefix) && prompt.endsWith(literals.middle) && readGap(prompt, literals);
    if (gap) return gap;
  }
  return { type: 'text', text: prompt };
}

const readPrefix = (prompt: string): TextPrompt | undefined =>
  prompt.endsWith(LITERALS.suffix)
    ? { type: 'fill', prefix: prompt.slice(LITERALS.prefix.length, -LITERALS.suffix.length), suffix: '' }
    : undefined;

function readGap(prompt: string, literals: Literals): TextPrompt | undefined {
  const content = prompt.slice(literals.prefix.length);
  const end = content.endsWith(literals.middle) ? content.length - literals.middle.length : content.length;
  const at = content.indexOf(literals.suffix);
  if (at < 0 || at > end) return undefined;
  return { type: 'fill', prefix: content.slice(0, at), suffix: content.slice(at + literals.suffix.length, end) };
}
