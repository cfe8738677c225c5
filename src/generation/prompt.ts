import type { LoadedModel } from '../engines/engine.ts';
import type { Message } from '../core/message.ts';
import { textOf } from '../core/message.ts';
import type { PromptSegment } from '../core/prompt.ts';
import { JSON_DEPTH_MAX } from '../core/limits.ts';
import { isDeeperThan } from '../lib/json-depth.ts';
import { withThought } from './thinking.ts';
import { createChatTemplate } from './chat-template.ts';
import type { ChatTemplate } from './chat-template.ts';

/** Used where a model file brings no template of its own. */
const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/** Renders conversations for one model. */
export type RenderPrompt = (messages: readonly Message[], style: PromptStyle) => PromptSegment[];

export interface PromptStyle {
  /** System text for a conversation without one. */
  readonly defaultSystem?: string | undefined;
  /** How earlier thoughts are told: in the template's own field, or in the text as one that is led to think writes it. */
  readonly earlierThoughts?: 'field' | 'text' | undefined;
}

/** Templates are parsed once per loaded model. */
export function createPromptRenderer(): (model: LoadedModel) => RenderPrompt {
  const templates = new WeakMap<LoadedModel, ChatTemplate>();
  return (model) => {
    let template = templates.get(model);
    if (!template) {
      template = createChatTemplate({ source: model.chatTemplate ?? CHATML, ...model });
      templates.set(model, template);
    }
    const ready = template;
    return (messages, style) => render(ready, messages, style);
  };
}

function render(
  template: ChatTemplate,
  messages: readonly Message[],
  { defaultSystem, earlierThoughts }: PromptStyle,
): PromptSegment[] {
  const last = messages.at(-1);
  // An unfinished last answer is not a turn of its own: the answer goes on where it ends.
  const opening = last?.role === 'assistant' && last.partial ? last : undefined;
  const turns = opening ? messages.slice(0, -1) : messages;
  const hasSystem = turns.some(({ role }) => role === 'system' || role === 'developer');
  const system = !hasSystem && defaultSystem !== undefined ? [{ role: 'system', content: defaultSystem }] : [];
  const segments = template.render({
    messages: [...system, ...turns.map((message) => toTemplateMessage(message, earlierThoughts))],
    add_generation_prompt: true,
    // A thought is opened behind the prompt (thinking.ts), the same way for every template.
    enable_thinking: false,
  });
  return opening ? [...segments, { text: textOf(opening), special: false }] : segments;
}

/** The shape that templates of the field expect; `developer` is no role of theirs. */
function toTemplateMessage(message: Message, thoughts: PromptStyle['earlierThoughts']): Record<string, unknown> {
  const { reasoning } = message;
  const text = textOf(message);
  return {
    role: message.role === 'developer' ? 'system' : message.role,
    content: thoughts === 'text' && reasoning ? withThought(reasoning, text) : text,
    ...(thoughts === 'field' && reasoning ? { reasoning_content: reasoning } : {}),
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(message.toolCallId === undefined ? {} : { tool_call_id: message.toolCallId }),
    ...(message.toolCalls && message.toolCalls.length > 0
      ? {
          tool_calls: message.toolCalls.map((call) => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: argumentsOf(call.arguments) },
          })),
        }
      : {}),
  };
}

/** Templates write arguments as JSON themselves; what is no JSON object goes in as the text it is. */
function argumentsOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    // Deeper text would take the recursive renderer to the end of its stack.
    return isObject && !isDeeperThan(value, JSON_DEPTH_MAX) ? value : text;
  } catch {
    return text;
  }
}
