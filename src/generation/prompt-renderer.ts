import type { LoadedModel } from '../engines/engine.ts';
import { getMessageText, type Message, type Tool } from '../core/message.ts';
import type { PromptSegment } from '../core/prompt.ts';
import type { ThinkingOptions } from '../core/request.ts';
import { renderWithCacheMarks } from './cache-marks.ts';
import { createChatTemplate, type ChatTemplate } from './chat-template.ts';
import { moveLateSystemToUser, moveSystemToUser } from './late-system.ts';
import { selectChatTemplate } from './select-chat-template.ts';
import { strftime } from './strftime.ts';
import {
  toTemplateMessage,
  detectTemplateQuirks,
  type EarlierThoughtPlacement,
  type TemplateQuirks,
} from './template-message.ts';
import { deriveThoughtFormat } from './thoughts/derive-thought-format.ts';
import { findThinkingVariables, THINKING_OFF, type SetThinkingVariables } from './thoughts/thinking-variables.ts';
import { findPromptEnd, getEndText, type ThoughtFormat } from './thoughts/thought-format.ts';
import { createCallCompiler, type CompileCalls } from './tools/call-program.ts';
import { findToolSupport, type ToolSupport } from './tools/find-tool-format.ts';
import type { ToolFormatName } from './tools/tool-formats.ts';
import { toSegments } from './tools/plan-tools.ts';
import {
  toTemplateTool,
  toDescribedTool,
  renderCallsAsText,
  addToolInstructions,
  writeCalls,
  type TemplateTool,
} from './tools/prompted-calls.ts';
import { CHATML_TEMPLATE } from '../core/chatml.ts';

/** Renders conversations for one model. */
export interface PromptRenderer {
  render(messages: readonly Message[], style: PromptStyle): PromptSegment[];
  /**
   * Returns how the model writes calls.
   * @param familyFormat Call format of the model's family, if it has one.
   */
  getToolSupport(familyFormat: ToolFormatName | undefined): ToolSupport;
  /** Compiles the calls of a format, once for this model. */
  readonly compileCalls: CompileCalls;
  /** Returns how the model writes thoughts. @param hasTools Whether the request offers tools. */
  findThoughtFormat(hasTools: boolean): ThoughtFormat;
}

export interface PromptStyle {
  /** System message for a conversation without one. */
  readonly defaultSystem?: string | undefined;
  readonly earlierThoughts?: EarlierThoughtPlacement;
  /** Present: the template's own switch is on, and it gets the effort and the budget if it reads them. */
  readonly thinking?: ThinkingOptions;
  /** Tools that the model may call. */
  readonly tools?: readonly Tool[];
  /** Call format of the model's family, if it has one. */
  readonly toolFormat?: ToolFormatName | undefined;
}

/** A model's template with the properties found in it. */
interface ParsedTemplate {
  readonly template: ChatTemplate;
  readonly specialTokens: readonly string[];
  readonly quirks: TemplateQuirks;
  /** Found when tools are first used, once for each family format. */
  readonly getToolSupport: (familyFormat: ToolFormatName | undefined) => ToolSupport;
  /** Found when thoughts are first read or requested. */
  readonly getThoughtFormat: () => ThoughtFormat;
  readonly setThinkingVariables: SetThinkingVariables;
}

/** Creates a renderer per model; each template is parsed once per loaded model. */
export function createPromptRenderer(): (model: LoadedModel) => PromptRenderer {
  const renderers = new WeakMap<LoadedModel, PromptRenderer>();
  return (model) => {
    const renderer = renderers.get(model) ?? createRenderer(model);
    renderers.set(model, renderer);
    return renderer;
  };
}

function createRenderer(model: LoadedModel): PromptRenderer {
  const templates = new Map<string, ParsedTemplate>();
  const getTemplate = (hasTools: boolean): ParsedTemplate => {
    const source = selectChatTemplate(model, hasTools) ?? CHATML_TEMPLATE;
    const template = templates.get(source) ?? parseTemplate(model, source);
    templates.set(source, template);
    return template;
  };
  return {
    render(messages, style) {
      const template = getTemplate(style.tools !== undefined && style.tools.length > 0);
      return renderWithCacheMarks(messages, (marked) => render(template, marked, style));
    },
    compileCalls: createCallCompiler(),
    getToolSupport: (familyFormat) => getTemplate(true).getToolSupport(familyFormat),
    findThoughtFormat: (hasTools) => getTemplate(hasTools).getThoughtFormat(),
  };
}

function parseTemplate(model: LoadedModel, source: string): ParsedTemplate {
  const template = withToolVariables(createChatTemplate({ ...model, source }), source);
  const supports = new Map<ToolFormatName | undefined, ToolSupport>();
  const renderVariables = (variables: Readonly<Record<string, unknown>>): string =>
    template
      .render(variables)
      .map(({ text }) => text)
      .join('');
  const getThinkingVariables = once(() => findThinkingVariables(renderVariables));
  const getThoughtFormat = once(() =>
    deriveThoughtFormat({ source, render: renderVariables, on: getThinkingVariables()({}), off: THINKING_OFF }),
  );
  return {
    template,
    specialTokens: model.specialTokens,
    quirks: detectTemplateQuirks(source),
    getThoughtFormat,
    setThinkingVariables: (options) => getThinkingVariables()(options),
    getToolSupport(familyFormat) {
      const support =
        supports.get(familyFormat) ??
        findToolSupport({ ...model, source, render: renderVariables, familyFormat, thoughts: getThoughtFormat() });
      supports.set(familyFormat, support);
      return support;
    },
  };
}

/** Adds the variables in which some templates expect tools: SmolLM3's, and firefunction's, which also shows the date. */
function withToolVariables(template: ChatTemplate, source: string): ChatTemplate {
  const isFirefunction = /\+ functions\b/.test(source) && /\bdatetime\b/.test(source);
  if (!isFirefunction && !/\bxml_tools\b/.test(source)) return template;
  return {
    render(variables) {
      const tools = (variables['tools'] ?? []) as readonly TemplateTool[];
      return template.render({
        ...variables,
        ...(isFirefunction
          ? { functions: JSON.stringify(tools, null, 4), datetime: strftime(new Date(), '%B %d, %Y') }
          : { xml_tools: tools.map((tool) => tool.function) }),
      });
    },
  };
}

function once<Value>(create: () => Value): () => Value {
  let created: { readonly value: Value } | undefined;
  return () => (created ??= { value: create() }).value;
}

function render(ready: ParsedTemplate, messages: readonly Message[], style: PromptStyle): PromptSegment[] {
  const { defaultSystem, tools = [] } = style;
  const last = messages.at(-1);
  // An unfinished last answer is not a turn of its own: the model continues it.
  const unfinishedAnswer = last?.role === 'assistant' && last.partial ? last : undefined;
  const turns = unfinishedAnswer ? messages.slice(0, -1) : messages;
  const hasSystem = turns.some(({ role }) => role === 'system' || role === 'developer');
  const system: Message[] =
    !hasSystem && defaultSystem !== undefined
      ? [{ role: 'system', content: [{ type: 'text', text: defaultSystem }] }]
      : [];
  const segments = renderTurns(ready, [...system, ...turns], tools, style);
  if (!unfinishedAnswer) return segments;
  const { closing, ...marks } = ready.getThoughtFormat();
  // The text of the answer has started, so its thought has ended.
  const isOpened = findPromptEnd(getEndText(segments), marks) === 'opened';
  return [
    ...segments,
    ...(isOpened ? toSegments(closing, ready.specialTokens) : []),
    { text: getMessageText(unfinishedAnswer), special: false },
  ];
}

/** Renders the messages as they are or, when the template fails, with later system messages as user text. */
function renderTurns(
  ready: ParsedTemplate,
  turns: readonly Message[],
  tools: readonly Tool[],
  style: PromptStyle,
): PromptSegment[] {
  return renderOr(
    () => renderCalls(ready, turns, tools, style),
    () => {
      const other = moveLateSystemToUser(turns);
      return other && renderCalls(ready, other, tools, style);
    },
  );
}

/**
 * Renders with the first function or, when the template fails, with the second, which returns undefined where it has
 * nothing else to try. Throws the first error when both fail: it names the problem of the conversation as it was sent.
 */
function renderOr(render: () => PromptSegment[], renderOther: () => PromptSegment[] | undefined): PromptSegment[] {
  try {
    return render();
  } catch (error) {
    let other: PromptSegment[] | undefined;
    try {
      other = renderOther();
    } catch {
      throw error;
    }
    if (!other) throw error;
    return other;
  }
}

/** Renders tools and calls in the template's format if it has one, else as text in Parley's format. */
function renderCalls(
  ready: ParsedTemplate,
  turns: readonly Message[],
  tools: readonly Tool[],
  style: PromptStyle,
): PromptSegment[] {
  if (tools.length === 0 && !turns.some(isCallOrResult)) return renderText(ready, turns, style);
  const { found } = ready.getToolSupport(style.toolFormat);
  if (found === undefined) {
    const plain = renderCallsAsText(turns);
    return renderText(ready, tools.length > 0 ? addToolInstructions(plain, tools) : plain, style);
  }
  const { format, form, describesTools, showsCalls } = found;
  const inForm = form ? { ...ready, quirks: { ...ready.quirks, ...form } } : ready;
  const shown = showsCalls ? turns : turns.map((message) => writeCalls(message, format));
  return renderOr(
    () =>
      describesTools || tools.length === 0
        ? renderTools(inForm, shown, tools, style)
        : renderText(inForm, addToolInstructions(shown, tools, format), style),
    // Some templates fail on calls: invalid arguments, several calls at once, results without their call.
    () => (turns.some(isCallOrResult) ? renderTools(ready, renderCallsAsText(turns, format), tools, style) : undefined),
  );
}

/** Renders messages without tools or, when the template knows no system messages, with their text in the first question. */
function renderText(ready: ParsedTemplate, turns: readonly Message[], style: PromptStyle): PromptSegment[] {
  return renderOr(
    () => renderTemplate(ready, turns, [], style),
    () => {
      const other = moveSystemToUser(turns);
      return other && renderTemplate(ready, other, [], style);
    },
  );
}

/** Renders tools as the caller described them or, when the template needs descriptions, with empty ones. */
function renderTools(
  ready: ParsedTemplate,
  turns: readonly Message[],
  tools: readonly Tool[],
  style: PromptStyle,
): PromptSegment[] {
  return renderOr(
    () => renderTemplate(ready, turns, tools.map(toTemplateTool), style),
    () => (tools.length > 0 ? renderTemplate(ready, turns, tools.map(toDescribedTool), style) : undefined),
  );
}

const isCallOrResult = ({ role, toolCalls }: Message): boolean => role === 'tool' || toolCalls !== undefined;

function renderTemplate(
  { template, quirks, setThinkingVariables }: ParsedTemplate,
  turns: readonly Message[],
  tools: readonly TemplateTool[],
  { earlierThoughts, thinking }: PromptStyle,
): PromptSegment[] {
  const namedIds = quirks.idNamesTool ? nameCallIds(turns) : undefined;
  const lastQuestion = turns.findLastIndex(({ role }) => role === 'user');
  return template.render({
    messages: turns.map((message, index) => {
      // Between the calls of one turn, models that think need the thoughts that led to these calls.
      const isInTurn = thinking !== undefined && index > lastQuestion && canShowThought(message, quirks);
      return toTemplateMessage(message, earlierThoughts ?? (isInTurn ? 'field' : undefined), { ...quirks, namedIds });
    }),
    add_generation_prompt: true,
    ...(thinking ? setThinkingVariables(thinking) : THINKING_OFF),
    // Templates use two names for the switch that keeps earlier reasoning.
    preserve_thinking: earlierThoughts !== undefined,
    clear_thinking: earlierThoughts === undefined,
    ...(tools.length > 0 ? { tools } : {}),
  });
}

/** Whether a message may have a thought: the template of gpt-oss rejects text beside it. */
const canShowThought = (message: Message, { thoughtField }: TemplateQuirks): boolean =>
  thoughtField !== 'thinking' || getMessageText(message) === '';

/** Returns the ids that name the tool and count the calls of a conversation, by the ids of the messages. */
const nameCallIds = (turns: readonly Message[]): ReadonlyMap<string, string> =>
  new Map(
    turns.flatMap(({ toolCalls = [] }) => toolCalls).map(({ id, name }, index) => [id, `functions.${name}:${index}`]),
  );
