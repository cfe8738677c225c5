import type { TextPrompt } from '../../../core/request.ts';

/** The specification's own words, whatever the model's tokens are called. */
const PREFIX = '<|fim_prefix|>';
const SUFFIX = '<|fim_suffix|>';
const MIDDLE = '<|fim_middle|>';

/**
 * A prompt as the specification's two templates write it, or as it stands:
 *
 *   <|fim_prefix|>{prefix}<|fim_suffix|>
 *   <|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>
 *
 * A literal counts at its documented place only; anywhere else it is content. The first template's last literal is the one
 * at the very end. In the second the first `<|fim_suffix|>` ends the prefix, so a prefix that holds one has to be sent
 * with the field `suffix`. `<|fim_middle|>` at the end may be missing.
 *
 * @returns undefined for what begins like a template and is none of them.
 */
export function readTemplate(prompt: string): TextPrompt | undefined {
  if (prompt.startsWith(SUFFIX)) return undefined;
  if (!prompt.startsWith(PREFIX)) return { type: 'text', text: prompt };
  const content = prompt.slice(PREFIX.length);
  if (content.endsWith(SUFFIX)) return { type: 'fill', prefix: content.slice(0, -SUFFIX.length), suffix: '' };
  const end = content.endsWith(MIDDLE) ? content.length - MIDDLE.length : content.length;
  const at = content.indexOf(SUFFIX);
  if (at < 0 || at > end) return undefined;
  return { type: 'fill', prefix: content.slice(0, at), suffix: content.slice(at + SUFFIX.length, end) };
}
