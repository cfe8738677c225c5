import type { Grammar } from '../../core/grammar.ts';
import type { Tool } from '../../core/message.ts';
import type { GenerationPhase, PromptSegment, PhaseTrigger } from '../../core/prompt.ts';
import type { OutputFormat, ToolUseOptions } from '../../core/request.ts';
import { createArgumentsGrammar, NO_ARGUMENTS } from './arguments-grammar.ts';
import { getCallMarkup, escapePattern, toChoiceGrammar, toTextGrammar, type CallMarkup } from './call-markup.ts';
import { ID_PLACE, type ToolFormat } from './tool-formats.ts';

/** How calls and the format of an answer are requested from an engine that supports phases. */
export interface ToolPlan {
  /** Segments after the prompt that start a forced call. */
  readonly opening: readonly PromptSegment[];
  /** The opening as text, for the parser of the answer. */
  readonly preface: string;
  /** Empty for an unconstrained answer. */
  readonly phases: readonly GenerationPhase[];
  readonly markers: readonly string[];
}

export interface ToolPlanOptions {
  readonly toolUse: ToolUseOptions | undefined;
  readonly outputFormat: OutputFormat | undefined;
  readonly format: ToolFormat;
  /** Special tokens of the model's vocabulary. */
  readonly specialTokens: readonly string[];
  /** Text at the end of the prompt, which may be the start of a call. */
  readonly promptEnd?: string;
}

/**
 * Plans phases: required calls and formatted answers start with a grammar; triggers detect calls in a free answer.
 *
 * @throws ServiceError `invalid-request` for a tool whose arguments cannot be an object.
 */
export function planTools({ toolUse, outputFormat, format, specialTokens, promptEnd = '' }: ToolPlanOptions): ToolPlan {
  const form = outputFormat ? createFormatGrammar(outputFormat) : undefined;
  if (!toolUse)
    return { opening: [], preface: '', phases: form ? [{ kind: 'answer', grammar: form }] : [], markers: [] };
  const markers = format.markers.filter((marker) => specialTokens.includes(marker));
  const started = findStartedHead(promptEnd, format);
  const preface = createPreface(toolUse, format) || started;
  const opening = toSegments(preface.slice(started.length), markers);
  return { opening, preface, phases: createPhases(toolUse, format, form), markers };
}

/** Returns the signs at the end of a prompt with which a call starts, such as functionary's `>>>`. */
function findStartedHead(promptEnd: string, { begin, before }: ToolFormat): string {
  const signs = /[^\w\s]{2,}$/.exec(promptEnd)?.[0] ?? '';
  return signs !== '' && (begin + before).startsWith(signs) ? signs : '';
}

/** Returns the phases for a position after `by` other phases. */
export const shiftPhases = (phases: readonly GenerationPhase[], by: number): GenerationPhase[] =>
  phases.map((phase) => ({
    ...phase,
    ...(phase.triggers ? { triggers: phase.triggers.map((one) => ({ ...one, phase: one.phase + by })) } : {}),
    ...(phase.nextPhase === undefined ? {} : { nextPhase: phase.nextPhase + by }),
  }));

/** Phases of an answer that must not start like a call: with an object, list, fence, mark or empty line. */
export const createAnswerOnlyPhases = (): GenerationPhase[] => [
  { kind: 'answer', grammar: { type: 'without', characters: '{`<[\n\r\t' }, until: { tokens: 1 }, nextPhase: 1 },
  { kind: 'answer' },
];

function createPreface({ choice }: ToolUseOptions, { begin, before, between }: ToolFormat): string {
  if (choice === 'auto') return '';
  return (begin + before + (choice === 'required' ? '' : choice.name + between)).replaceAll(ID_PLACE, '0');
}

/** Position of the first tool's phase: after the phase in which the answer starts. */
const FIRST_CALL_PHASE = 1;

/**
 * Creates the phases: at position 0 the start of the answer, then one phase per tool with its schema, then the phases
 * that lead there.
 */
function createPhases(
  { tools, choice, isParallel }: ToolUseOptions,
  format: ToolFormat,
  formatGrammar: Grammar | undefined,
): GenerationPhase[] {
  if (typeof choice === 'object') {
    const tool = tools.find(({ name }) => name === choice.name);
    return [{ kind: 'call', grammar: tool ? createArgumentsGrammar(tool, format) : NO_ARGUMENTS }];
  }
  const markup = getCallMarkup(format);
  if (hasAmbiguousNames(tools, markup)) return [];
  const phaseAfterCalls = FIRST_CALL_PHASE + tools.length;
  const calls = (next?: number): GenerationPhase[] =>
    tools.map((tool) => createCallPhase(tool, format, isParallel ? next : undefined));

  if (choice === 'auto' && !formatGrammar)
    return [createFreePhase(tools, markup, phaseAfterCalls), ...calls(0), ...createNamePhases(tools, markup)];
  const first =
    formatGrammar && choice === 'auto'
      ? createFormatPhase(formatGrammar, tools, markup)
      : createNamePhase('call', [''], tools, markup);
  if (!isParallel) return [first, ...calls()];
  const laterPhases = formatGrammar
    ? [createNextCallPhase(tools, markup, format)]
    : [createFreePhase(tools, markup, phaseAfterCalls + 1), ...createNamePhases(tools, markup)];
  return [first, ...calls(phaseAfterCalls), ...laterPhases];
}

/**
 * Whether nothing shows where a name ends of which another name is the start: a grammar would decide for the shorter one as
 * soon as it is complete. The answer is then not constrained; its parser decides.
 */
const hasAmbiguousNames = (tools: readonly Tool[], { nameEnd }: CallMarkup): boolean =>
  nameEnd === '' && tools.some(({ name }) => tools.some((other) => other.name !== name && other.name.startsWith(name)));

/** A free phase until a call starts, with a mark (phases from `firstNamePhase` on) or without. */
const createFreePhase = (
  tools: readonly Tool[],
  { openings, createUnmarkedPattern }: CallMarkup,
  firstNamePhase: number,
): GenerationPhase => ({
  kind: 'answer',
  triggers: [
    ...openings.map(({ opening }, i) => ({ pattern: escapePattern(opening), phase: firstNamePhase + i })),
    ...createTriggers(tools, createUnmarkedPattern),
  ],
});

/** Phases after a mark: they accept a declared name. */
const createNamePhases = (tools: readonly Tool[], markup: CallMarkup): GenerationPhase[] =>
  markup.openings.map(({ heads }) => createNamePhase('call', heads, tools, markup));

/** A phase for one of the heads and a declared name, which leads to the tool's phase. */
function createNamePhase(
  kind: GenerationPhase['kind'],
  heads: readonly string[],
  tools: readonly Tool[],
  markup: CallMarkup,
): GenerationPhase {
  const isBare = heads.every((head) => head === '');
  const names = createNamesGrammar(tools, markup);
  return {
    kind,
    grammar: isBare ? names : { type: 'sequence', parts: [toChoiceGrammar(heads), names] },
    triggers: createNameTriggers(heads, tools, markup),
  };
}

/** A phase for the formatted answer or a call. */
const createFormatPhase = (form: Grammar, tools: readonly Tool[], markup: CallMarkup): GenerationPhase => ({
  kind: 'answer',
  grammar: { type: 'choice', options: [form, prependText(markup.head, createNamesGrammar(tools, markup))] },
  triggers: createNameTriggers([markup.head], tools, markup),
});

/** A phase after a call: for the end of the answer or another call. */
function createNextCallPhase(
  tools: readonly Tool[],
  markup: CallMarkup,
  { separator, before, end }: ToolFormat,
): GenerationPhase {
  const head = markup.after + separator + before;
  const options: Grammar[] = [
    { type: 'text', text: markup.after + end },
    prependText(head, createNamesGrammar(tools, markup)),
  ];
  return {
    kind: 'answer',
    grammar: { type: 'choice', options },
    triggers: createNameTriggers([head], tools, markup),
  };
}

function createCallPhase(tool: Tool, format: ToolFormat, next: number | undefined): GenerationPhase {
  const { beforeArguments, objectEnd } = getCallMarkup(format);
  const parts = [...beforeArguments, createArgumentsGrammar(tool, format)];
  if (next === undefined) return { kind: 'call', grammar: { type: 'sequence', parts } };
  const end: Grammar[] = objectEnd === '' ? [] : [{ type: 'text', text: objectEnd }];
  return { kind: 'call', grammar: { type: 'sequence', parts: [...parts, ...end] }, nextPhase: next };
}

const createNamesGrammar = (tools: readonly Tool[], { nameEnd }: CallMarkup): Grammar =>
  toChoiceGrammar(tools.map(({ name }) => name + nameEnd));

const prependText = (text: string, grammar: Grammar): Grammar => ({
  type: 'sequence',
  parts: [toTextGrammar(text), grammar],
});

function createNameTriggers(heads: readonly string[], tools: readonly Tool[], { nameEnd }: CallMarkup): PhaseTrigger[] {
  const head = `^(?:${heads.map(escapePattern).join('|')})`;
  return createTriggers(tools, (name) => head + escapePattern(name + nameEnd));
}

const createTriggers = (tools: readonly Tool[], pattern: (name: string) => string): PhaseTrigger[] =>
  tools.map(({ name }, i) => ({ pattern: pattern(name), phase: FIRST_CALL_PHASE + i }));

const createFormatGrammar = (format: OutputFormat): Grammar =>
  format.type === 'json-object'
    ? { type: 'schema', schema: { type: 'object' }, field: 'response_format' }
    : { type: 'schema', schema: format.schema, field: format.field };

/**
 * Splits a text into segments. Only the format's markers become special tokens; other texts that look like one do not.
 */
export function toSegments(text: string, markers: readonly string[]): PromptSegment[] {
  if (text === '') return [];
  if (markers.length === 0) return [{ text, special: false }];
  return text
    .split(new RegExp(`(${markers.map((marker) => RegExp.escape(marker)).join('|')})`))
    .filter((part) => part !== '')
    .map((part) => ({ text: part, special: markers.includes(part) }));
}
