import type { LoadedModel } from '../../engines/engine.ts';
import type { ToolFormat } from './tool-formats.ts';

/**
 * Tokens that end a turn in widely used vocabularies. Engines stop at them and never output their text. Source:
 * llama.cpp (`src/llama-vocab.cpp`) and the generation settings of the models.
 */
export const END_TOKENS: readonly string[] = [
  '<|im_end|>',
  '<|end|>',
  '<|eot_id|>',
  '<|eot|>',
  '<|eom_id|>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|return|>',
  '<|call|>',
  '<|calls|>',
  '<|flush|>',
  '<|tool_response>',
  '<start_function_response>',
  '<|observation|>',
  '<|assistant_end|>',
  '[|endofturn|]',
  '<turn|>',
  '<end_of_turn>',
  '<end_of_utterance>',
  '<sep>',
  '<|END_OF_TURN_TOKEN|>',
  '<｜end▁of▁sentence｜>',
  '</s>',
  '<eos>',
  '<|role_end|>',
];

/** Lists the tokens of a vocabulary that end a turn. */
export const listEndTokens = ({ eosToken, specialTokens }: Pick<LoadedModel, 'eosToken' | 'specialTokens'>): string[] =>
  [eosToken, ...END_TOKENS.filter((token) => token !== eosToken && specialTokens.includes(token))].filter(
    (token) => token !== '',
  );

type CallEnd = Pick<ToolFormat, 'after' | 'end'>;

/**
 * Removes the token that ends the turn from what follows calls, because a model never writes it as text.
 *
 * @param eosToken Text of the model's own end token.
 * @returns what is left, and the token.
 */
export function splitEndToken<Format extends CallEnd>(
  format: Format,
  eosToken: string,
): { readonly format: Format; readonly endToken: string | undefined } {
  const field = format.end.trim() === '' ? 'after' : 'end';
  const text = format[field].trimEnd();
  const endToken = [eosToken, ...END_TOKENS].find((token) => token !== '' && text.endsWith(token));
  return { format: endToken ? { ...format, [field]: text.slice(0, -endToken.length) } : format, endToken };
}
