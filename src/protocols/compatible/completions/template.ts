import { FILL_FORMATS, type FillInTheMiddle } from '../../../core/fill-in-the-middle.ts';
import type { TextPrompt } from '../../../core/request.ts';

type EditorLiterals = Pick<FillInTheMiddle, 'prefix' | 'suffix' | 'middle' | 'first'>;
type Literals = Required<Omit<EditorLiterals, 'first'>>;

/** The documented literals, independent of the model's special tokens. */
const DOCUMENTED_LITERALS: Literals = { prefix: '<|fim_prefix|>', suffix: '<|fim_suffix|>', middle: '<|fim_middle|>' };

/** CodeLlama's tokens as text: the blanks belong to them. */
const CODE_LLAMA_LITERALS: Literals = { prefix: '<PRE> ', suffix: ' <SUF>', middle: ' <MID>' };

/** Literals that editors send, named after the special tokens of other model families, in the order of those. */
const EDITOR_LITERALS: readonly EditorLiterals[] = [
  CODE_LLAMA_LITERALS,
  ...FILL_FORMATS.filter(({ prefix }) => prefix !== DOCUMENTED_LITERALS.prefix),
];

/**
 * Parses a prompt that uses one of the two documented fill-in-the-middle templates:
 *
 *   <|fim_prefix|>{prefix}<|fim_suffix|> <|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>
 *
 * A literal counts only at its documented position; elsewhere it is content. The first template ends with the last
 * `<|fim_suffix|>` of the prompt. In the second, the first `<|fim_suffix|>` ends the prefix, so a prefix that contains
 * one must be sent with the field `suffix`. `<|fim_middle|>` at the end is optional. In other spellings, only the
 * complete second template is recognized.
 *
 * @returns The text itself if the prompt uses no template; undefined if it starts like a template but matches neither.
 */
export function parseFillTemplate(prompt: string): TextPrompt | undefined {
  if (prompt.startsWith(DOCUMENTED_LITERALS.suffix)) return undefined;
  if (prompt.startsWith(DOCUMENTED_LITERALS.prefix))
    return parsePrefixTemplate(prompt) ?? parseFullTemplate(prompt, DOCUMENTED_LITERALS);
  for (const literals of EDITOR_LITERALS) {
    const gap = parseEditorTemplate(prompt, literals);
    if (gap) return gap;
  }
  return { type: 'text', text: prompt };
}

const parsePrefixTemplate = (prompt: string): TextPrompt | undefined =>
  prompt.endsWith(DOCUMENTED_LITERALS.suffix)
    ? {
        type: 'fill',
        prefix: prompt.slice(DOCUMENTED_LITERALS.prefix.length, -DOCUMENTED_LITERALS.suffix.length),
        suffix: '',
      }
    : undefined;

function parseFullTemplate(prompt: string, literals: Literals): TextPrompt | undefined {
  const content = prompt.slice(literals.prefix.length);
  const end = content.endsWith(literals.middle) ? content.length - literals.middle.length : content.length;
  const at = content.indexOf(literals.suffix);
  if (at < 0 || at > end) return undefined;
  return { type: 'fill', prefix: content.slice(0, at), suffix: content.slice(at + literals.suffix.length, end) };
}

function parseEditorTemplate(
  prompt: string,
  { prefix, suffix, middle = '', first }: EditorLiterals,
): TextPrompt | undefined {
  const [opening, separator] = first === 'suffix' ? [suffix, prefix] : [prefix, suffix];
  if (!prompt.startsWith(opening) || !prompt.endsWith(middle)) return undefined;
  const content = prompt.slice(opening.length, prompt.length - middle.length);
  const at = content.indexOf(separator);
  if (at < 0) return undefined;
  const parts = [content.slice(0, at), content.slice(at + separator.length)] as const;
  const [before, after] = first === 'suffix' ? [parts[1], parts[0]] : parts;
  return { type: 'fill', prefix: before, suffix: after };
}
