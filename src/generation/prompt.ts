import type { LoadedModel } from '../engines/engine.ts';
import type { Message, Tool } from '../core/message.ts';
import { textOf } from '../core/message.ts';
import type { PromptSegment } from '../core/prompt.ts';
import { withCacheMarks } from './cache-marks.ts';
import { createChatTemplate } from './chat-template.ts';
import type { ChatTemplate } from './chat-template.ts';
import { lateSystemAsUser } from './late-system.ts';
import { templateMessage, templateWishes } from './template-message.ts';
import type { EarlierThoughts, TemplateWishes } from './template-message.ts';
import { templateToolFormat, TOOL_FORMATS } from './tools/formats.ts';
import type { ToolFormatName } from './tools/formats.ts';
import { toolForTemplate, withCallsAsText, withToolsTold } from './tools/prompted-calls.ts';

/** Used where a model file brings no template of its own. */
const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/** Renders conversations for one model. */
export type RenderPrompt = (messages: readonly Message[], style: PromptStyle) => PromptSegment[];

export interface PromptStyle {
  /** System text for a conversation without one. */
  readonly defaultSystem?: string | undefined;
  readonly earlierThoughts?: EarlierThoughts;
  /** The template's own switch. Where it opens no thought itself, thinking.ts opens one behind the prompt. */
  readonly opensThought?: boolean;
  /** What may be called. */
  readonly tools?: readonly Tool[];
  /** The family's way of writing calls, where it has one. */
  readonly toolFormat?: ToolFormatName | undefined;
}

/** A model's template, and what its source tells of it. */
interface ReadyTemplate {
  readonly template: ChatTemplate;
  readonly source: string;
  readonly wishes: TemplateWishes;
}

/** Templates are parsed once per loaded model. */
export function createPromptRenderer(): (model: LoadedModel) => RenderPrompt {
  const templates = new WeakMap<LoadedModel, ReadyTemplate>();
  return (model) => {
    let ready = templates.get(model);
    if (!ready) {
      const source = model.chatTemplate ?? CHATML;
      ready = { template: createChatTemplate({ ...model, source }), source, wishes: templateWishes(source) };
      templates.set(model, ready);
    }
    const known = ready;
    return (messages, style) => withCacheMarks(messages, (marked) => render(known, marked, style));
  };
}

function render(ready: ReadyTemplate, messages: readonly Message[], style: PromptStyle): PromptSegment[] {
  const { defaultSystem, tools = [] } = style;
  const last = messages.at(-1);
  // An unfinished last answer is not a turn of its own: the answer goes on where it ends.
  const opening = last?.role === 'assistant' && last.partial ? last : undefined;
  const turns = opening ? messages.slice(0, -1) : messages;
  const hasSystem = turns.some(({ role }) => role === 'system' || role === 'developer');
  const system: Message[] =
    !hasSystem && defaultSystem !== undefined
      ? [{ role: 'system', content: [{ type: 'text', text: defaultSystem }] }]
      : [];
  const segments = renderTurns(ready, [...system, ...turns], tools, style);
  return opening ? [...segments, { text: textOf(opening), special: false }] : segments;
}

/** As it was said, or, where the template refuses that, with nothing said by the system but at the beginning. */
function renderTurns(
  ready: ReadyTemplate,
  turns: readonly Message[],
  tools: readonly Tool[],
  style: PromptStyle,
): PromptSegment[] {
  try {
    return renderCalls(ready, turns, tools, style);
  } catch (error) {
    const other = lateSystemAsUser(turns);
    if (!other) throw error;
    try {
      return renderCalls(ready, other, tools, style);
    } catch {
      throw error;
    }
  }
}

/** Tools and calls in the template's own way where it has one, else in ours. */
function renderCalls(
  ready: ReadyTemplate,
  turns: readonly Message[],
  tools: readonly Tool[],
  style: PromptStyle,
): PromptSegment[] {
  if (tools.length === 0 && !turns.some(isOfCalls)) return renderTemplate(ready, turns, [], style);
  const format = templateToolFormat(ready.source, style.toolFormat);
  if (format === undefined) {
    const plain = withCallsAsText(turns);
    return renderTemplate(ready, tools.length > 0 ? withToolsTold(plain, tools) : plain, [], style);
  }
  try {
    return renderTemplate(ready, turns, tools, style);
  } catch (error) {
    // Some templates fail on calls that others take: broken arguments, several at once, results without their call.
    if (!turns.some(isOfCalls)) throw error;
    try {
      return renderTemplate(ready, withCallsAsText(turns, TOOL_FORMATS[format]), tools, style);
    } catch {
      throw error;
    }
  }
}

const isOfCalls = ({ role, toolCalls }: Message): boolean => role === 'tool' || toolCalls !== undefined;

function renderTemplate(
  { template, wishes }: ReadyTemplate,
  turns: readonly Message[],
  tools: readonly Tool[],
  { earlierThoughts, opensThought = false }: PromptStyle,
): PromptSegment[] {
  return template.render({
    messages: turns.map((message) => templateMessage(message, earlierThoughts, wishes)),
    add_generation_prompt: true,
    // The switch has two names, and so has that for earlier thoughts.
    enable_thinking: opensThought,
    thinking: opensThought,
    preserve_thinking: earlierThoughts !== undefined,
    clear_thinking: earlierThoughts === undefined,
    ...(tools.length > 0 ? { tools: tools.map(toolForTemplate) } : {}),
  });
}
