import { createChatTemplate } from '../../chat-template.ts';
import type { RenderMessages } from '../../tools/derive-tool-format.ts';

/** Returns a function that renders a template to text, without special tokens. */
export function renderText(source: string): RenderMessages {
  const template = createChatTemplate({ source, specialTokens: [], bosToken: '', eosToken: '<|im_end|>' });
  return (variables) =>
    template
      .render(variables)
      .map(({ text }) => text)
      .join('');
}
