import { ServiceError } from '../../core/error.ts';
import type { Grammar, JsonSchema } from '../../core/grammar.ts';
import type { Tool } from '../../core/message.ts';
import type { Phase, PromptSegment, Trigger } from '../../core/prompt.ts';
import type { OutputFormat, ToolUse } from '../../core/request.ts';
import { shown } from '../../grammar/schema-document.ts';
import { callMarkup, escapePattern, oneOf } from './call-markup.ts';
import type { CallMarkup } from './call-markup.ts';
import { TOOL_FORMATS } from './formats.ts';
import type { ToolFormat, ToolFormatName } from './formats.ts';

/** How a request's calls and the form of its answer are put to an engine that runs phases. */
export interface ToolPlan {
  /** Goes behind the prompt: a call has begun. */
  readonly opening: readonly PromptSegment[];
  /** The same as text, for whoever reads the answer. */
  readonly preface: string;
  /** Empty: one free answer. */
  readonly phases: readonly Phase[];
  readonly markers: readonly string[];
}

export interface ToolPlanNeeds {
  readonly toolUse: ToolUse | undefined;
  readonly outputFormat: OutputFormat | undefined;
  readonly format: ToolFormatName;
  /** Of the model's vocabulary. */
  readonly specialTokens: readonly string[];
}

/**
 * Required calls, and an answer that has a form, begin under a grammar; a free one is watched by triggers.
 *
 * @throws ServiceError `invalid-request` for a tool whose arguments cannot be an object.
 */
export function planTools({ toolUse, outputFormat, format: name, specialTokens }: ToolPlanNeeds): ToolPlan {
  const form = outputFormat ? formGrammar(outputFormat) : undefined;
  if (!toolUse)
    return { opening: [], preface: '', phases: form ? [{ kind: 'answer', grammar: form }] : [], markers: [] };
  const format = TOOL_FORMATS[name];
  const markers = format.markers.filter((marker) => specialTokens.includes(marker));
  const preface = prefaceOf(toolUse, format);
  return { opening: toSegments(preface, markers), preface, phases: phasesOf(toolUse, format, form), markers };
}

/** The same phases behind `by` others. */
export const shiftPhases = (phases: readonly Phase[], by: number): Phase[] =>
  phases.map((phase) => ({
    ...phase,
    ...(phase.triggers ? { triggers: phase.triggers.map((one) => ({ ...one, phase: one.phase + by })) } : {}),
    ...(phase.next === undefined ? {} : { next: phase.next + by }),
  }));

/** Phases of an answer that does not begin as a call does: with an object, a list, a fence, a mark, or an empty line. */
export const steerToAnswer = (): Phase[] => [
  { kind: 'answer', grammar: { type: 'without', characters: '{`<[\n\r\t' }, until: { tokens: 1 }, next: 1 },
  { kind: 'answer' },
];

function prefaceOf({ choice }: ToolUse, { begin, before, between }: ToolFormat): string {
  if (choice === 'auto') return '';
  return begin + before + (choice === 'required' ? '' : choice.name + between);
}

/** Where a tool's own phase stands: behind the one that the answer begins in. */
const CALLS_AT = 1;

/**
 * Position 0 is where the answer begins, then comes a phase for each tool, which holds its schema, then what else is
 * needed to get there.
 */
function phasesOf({ tools, choice, isParallel }: ToolUse, format: ToolFormat, form: Grammar | undefined): Phase[] {
  if (typeof choice === 'object') {
    const tool = tools.find(({ name }) => name === choice.name);
    return [{ kind: 'call', grammar: tool ? argumentsGrammar(tool) : NO_ARGUMENTS }];
  }
  const markup = callMarkup(format);
  const behind = CALLS_AT + tools.length;
  const calls = (next?: number): Phase[] => tools.map((tool) => callPhase(tool, markup, isParallel ? next : undefined));

  if (choice === 'auto' && !form)
    return [freePhase(tools, markup, behind), ...calls(0), ...openedPhases(tools, markup)];
  const first = form && choice === 'auto' ? formPhase(form, tools, markup) : namePhase('call', [''], tools, markup);
  if (!isParallel) return [first, ...calls()];
  const further = form
    ? [furtherPhase(tools, markup, format)]
    : [freePhase(tools, markup, behind + 1), ...openedPhases(tools, markup)];
  return [first, ...calls(behind), ...further];
}

/** Anything, until a call begins: by a mark, which leads to a phase at `openedAt` or behind it, or without. */
const freePhase = (tools: readonly Tool[], { opened, barePattern }: CallMarkup, openedAt: number): Phase => ({
  kind: 'answer',
  triggers: [
    ...opened.map(({ opening }, i) => ({ pattern: escapePattern(opening), phase: openedAt + i })),
    ...triggersTo(tools, barePattern),
  ],
});

/** Behind a mark: a declared name. */
const openedPhases = (tools: readonly Tool[], markup: CallMarkup): Phase[] =>
  markup.opened.map(({ heads }) => namePhase('call', heads, tools, markup));

/** One of the heads and a declared name, which leads to the tool's phase. */
function namePhase(kind: Phase['kind'], heads: readonly string[], tools: readonly Tool[], markup: CallMarkup): Phase {
  const isBare = heads.every((head) => head === '');
  const names = namesGrammar(tools, markup);
  return {
    kind,
    grammar: isBare ? names : { type: 'sequence', parts: [oneOf(heads), names] },
    triggers: nameTriggers(heads, tools, markup),
  };
}

/** The answer in its form, or a call. */
const formPhase = (form: Grammar, tools: readonly Tool[], markup: CallMarkup): Phase => ({
  kind: 'answer',
  grammar: { type: 'choice', options: [form, behindText(markup.head, namesGrammar(tools, markup))] },
  triggers: nameTriggers([markup.head], tools, markup),
});

/** Behind a call: the end of all, or another one. */
function furtherPhase(tools: readonly Tool[], markup: CallMarkup, { separator, before, end }: ToolFormat): Phase {
  const head = markup.after + separator + before;
  const options: Grammar[] = [
    { type: 'text', text: markup.after + end },
    behindText(head, namesGrammar(tools, markup)),
  ];
  return {
    kind: 'answer',
    grammar: { type: 'choice', options },
    triggers: nameTriggers([head], tools, markup),
  };
}

function callPhase(tool: Tool, { toArguments, objectEnd }: CallMarkup, next: number | undefined): Phase {
  const parts = [...toArguments, argumentsGrammar(tool)];
  if (next === undefined) return { kind: 'call', grammar: { type: 'sequence', parts } };
  const end: Grammar[] = objectEnd === '' ? [] : [{ type: 'text', text: objectEnd }];
  return { kind: 'call', grammar: { type: 'sequence', parts: [...parts, ...end] }, next };
}

const namesGrammar = (tools: readonly Tool[], { nameEnd }: CallMarkup): Grammar =>
  oneOf(tools.map(({ name }) => name + nameEnd));

const behindText = (text: string, grammar: Grammar): Grammar => ({
  type: 'sequence',
  parts: [{ type: 'text', text }, grammar],
});

function nameTriggers(heads: readonly string[], tools: readonly Tool[], { nameEnd }: CallMarkup): Trigger[] {
  const head = `^(?:${heads.map(escapePattern).join('|')})`;
  return triggersTo(tools, (name) => head + escapePattern(name + nameEnd));
}

const triggersTo = (tools: readonly Tool[], pattern: (name: string) => string): Trigger[] =>
  tools.map(({ name }, i) => ({ pattern: pattern(name), phase: CALLS_AT + i }));

const NO_ARGUMENTS: Grammar = { type: 'text', text: '{}' };

function argumentsGrammar({ parameters, field }: Tool): Grammar {
  const isNone = parameters === undefined || (typeof parameters === 'object' && Object.keys(parameters).length === 0);
  if (isNone) return NO_ARGUMENTS;
  return { type: 'schema', schema: objectSchema(parameters, field), field };
}

/** Arguments are an object, whether their schema says so or not. A schema that says otherwise is refused where it does. */
function objectSchema(schema: JsonSchema, field: string): JsonSchema {
  if (schema === true) return { type: 'object' };
  if (schema === false || schema.type === 'object') return schema;
  const { type } = schema;
  // In place, so that references into the schema still lead where they did.
  if (type === undefined || (Array.isArray(type) && type.includes('object'))) return { ...schema, type: 'object' };
  throw new ServiceError(
    'invalid-request',
    `type must be "object", as arguments are one, got ${shown(type)} (${field}, at #).`,
    { param: field },
  );
}

const formGrammar = (format: OutputFormat): Grammar =>
  format.type === 'json-object'
    ? { type: 'schema', schema: { type: 'object' }, field: 'response_format' }
    : { type: 'schema', schema: format.schema, field: format.field };

/** Only markers are special tokens; what else reads like one, in a tool's name, is text. */
function toSegments(text: string, markers: readonly string[]): PromptSegment[] {
  if (text === '') return [];
  if (markers.length === 0) return [{ text, special: false }];
  return text
    .split(new RegExp(`(${markers.map((marker) => RegExp.escape(marker)).join('|')})`))
    .filter((part) => part !== '')
    .map((part) => ({ text: part, special: markers.includes(part) }));
}
