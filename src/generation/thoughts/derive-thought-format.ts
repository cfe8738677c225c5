import { readThoughts } from './read-thoughts.ts';
import { countCommonMarks, splitMarks } from '../tools/split-enclosure.ts';
import type { RenderMessages } from '../tools/derive-tool-format.ts';
import type { TemplateVariables } from './thinking-variables.ts';
import { findPromptEnd, USUAL_THOUGHTS, type ThoughtFormat } from './thought-format.ts';

export interface DeriveThoughtsOptions {
  /** Text of the template, which may name marks that no rendering shows. */
  readonly source: string;
  readonly render: RenderMessages;
  /** TemplateVariables of the template for a request with thinking, and for one without. */
  readonly on: TemplateVariables;
  readonly off: TemplateVariables;
}

/**
 * Derives how a template writes thoughts, by rendering conversations that differ in one thing: an earlier answer with a
 * thought and without, and prompts with the switch on and off. What stands around the thought, beyond what the prompt
 * ends with, are its marks. Where a template drops earlier thoughts, its prompts or its text show the marks.
 */
export function deriveThoughtFormat(options: DeriveThoughtsOptions): ThoughtFormat {
  const turns = createTurns(options);
  const found =
    EARLIER_THOUGHTS.map((message) => deriveFromTurn(turns, message)).find((format) => format !== undefined) ??
    deriveFromPrompts(turns, options.source) ??
    deriveFromText(turns, options.source) ??
    USUAL_THOUGHTS;
  return addCutMarks(addAnswerMarks(found, turns), options.source);
}

/** Marks around answers that some templates only cut off: Hunyuan's. */
const CUT_MARKS = ['<answer>', '</answer>'] as const;

/** Adds marks around answers that a template never writes, because it removes them from earlier ones or leaves them out. */
function addCutMarks(format: ThoughtFormat, source: string): ThoughtFormat {
  // A mark that says that the answer begins has one that says that it ends.
  if (format.answerClose === '' && format.close.startsWith('[BEGIN '))
    return { ...format, answerClose: format.close.replace('BEGIN', 'END') };
  const paired = format.answerOpenings.map((mark) => findPaired(mark, source)).find((mark) => mark !== undefined);
  if (format.answerClose === '' && paired !== undefined) return { ...format, answerClose: paired };
  const [open, answerClose] = CUT_MARKS;
  const isCut =
    format.isShown && format.answerOpenings.length === 0 && CUT_MARKS.every((mark) => source.includes(mark));
  return isCut ? { ...format, answerOpenings: [open], answerClose } : format;
}

/** Shorter marks could be taken for the start of an answer. */
const MARK_CHARS_MIN = 5;

const QUESTION = '§question§';
const THOUGHT = '§a <b> thought§\n\n1. with lines';
const ANSWER = '§answer§';
const FIELDS = { reasoning_content: THOUGHT, reasoning: THOUGHT, thinking: THOUGHT };
/** Two names of the switch that keeps earlier thoughts. */
const KEEPS_THOUGHTS = { preserve_thinking: true, clear_thinking: false };

const CALL = { id: 'idaaaaaa1', type: 'function', function: { name: 'fn_first', arguments: { key_one: 'value_one' } } };
const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'fn_first',
      description: 'first',
      parameters: {
        type: 'object',
        properties: { key_one: { type: 'string', description: 'one' } },
        required: ['key_one'],
      },
    },
  },
];

/** Messages with a thought: templates read it from different fields, and some only before a call. */
const EARLIER_THOUGHTS: readonly TemplateVariables[] = [
  { content: ANSWER, ...FIELDS },
  {
    content: [
      { type: 'thinking', thinking: THOUGHT },
      { type: 'text', text: ANSWER },
    ],
  },
  { content: '', ...FIELDS, tool_calls: [CALL] },
  {
    content: '',
    ...FIELDS,
    tool_calls: [{ ...CALL, function: { ...CALL.function, arguments: JSON.stringify(CALL.function.arguments) } }],
  },
];

/** Texts that a template writes after the question. Undefined where it fails or writes no question. */
interface Turns {
  /** Prompts for the next answer. */
  readonly on: string | undefined;
  readonly off: string | undefined;
  /** The prompt for an answer with thinking, from its start. */
  readonly wholeOn: string;
  /** An earlier answer without a thought, while thinking is on. */
  readonly plain: string | undefined;
  readonly write: (message: TemplateVariables) => string | undefined;
}

function createTurns({ render, on, off }: DeriveThoughtsOptions): Turns {
  const user = { role: 'user', content: QUESTION };
  const tryRender = (variables: TemplateVariables): string | undefined => {
    try {
      return render(variables);
    } catch {
      return undefined;
    }
  };
  const getAfterQuestion = (text: string | undefined): string | undefined =>
    text?.includes(QUESTION) === true ? text.slice(text.lastIndexOf(QUESTION) + QUESTION.length) : undefined;
  const write = (message: TemplateVariables): string | undefined =>
    getAfterQuestion(
      tryRender({
        ...on,
        ...KEEPS_THOUGHTS,
        messages: [user, { role: 'assistant', ...message }],
        add_generation_prompt: false,
        ...('tool_calls' in message ? { tools: TOOLS } : {}),
      }),
    );
  const wholeOn = tryRender({ ...on, messages: [user], add_generation_prompt: true });
  return {
    write,
    wholeOn: wholeOn ?? '',
    on: getAfterQuestion(wholeOn),
    off: getAfterQuestion(tryRender({ ...off, messages: [user], add_generation_prompt: true })),
    plain: write({ content: ANSWER }),
  };
}

/** Derives the marks from an earlier answer with a thought. */
function deriveFromTurn(turns: Turns, message: TemplateVariables): ThoughtFormat | undefined {
  const [before, rest, ...more] = turns.write(message)?.split(THOUGHT) ?? [];
  if (before === undefined || rest === undefined || more.length > 0) return undefined;
  const opening = findOpening(before, turns);
  if (opening === undefined || opening.trim().length < MARK_CHARS_MIN) return undefined;
  const hasAnswer = rest.includes(ANSWER);
  const middle = hasAnswer ? rest.slice(0, rest.indexOf(ANSWER)) : rest;
  const close = findClose(middle, hasAnswer ? rest.slice(rest.indexOf(ANSWER) + ANSWER.length) : '');
  if (close === undefined) return undefined;
  const afterClose = middle.slice(middle.indexOf(close) + close.length);
  const blanks = /^\s*/.exec(afterClose)?.[0] ?? '';
  const answerOpening = hasAnswer ? afterClose.slice(blanks.length) : '';
  // A tag with which thoughts and answers both start, such as `<|open|>` before `think` and `response`, is a part of both.
  const tag = before.endsWith(opening) ? (LAST_TAG.exec(before.slice(0, -opening.length))?.[0] ?? '') : '';
  const sharesTag = tag !== '' && answerOpening.startsWith(tag);
  const format = createFormat(
    sharesTag ? tag + opening : opening,
    middle.slice(0, middle.indexOf(close) + close.length),
  );
  const complete = {
    ...format,
    closing: format.closing + blanks,
    answerOpenings: listAnswerOpenings(answerOpening),
  };
  return parsesBack(complete, format.opening + THOUGHT + middle) ? complete : undefined;
}

/** Returns the text that opens a thought: what an answer with a thought has beyond a prompt or another answer. */
function findOpening(before: string, { on, off, plain }: Turns): string | undefined {
  if (on === undefined) return undefined;
  const written = getExtra(before, on);
  if (written !== '') return written;
  // The prompt opens the thought. An answer without a thought, or a prompt without thinking, shows where it does.
  const openedBeyondAnswer = plain === undefined ? '' : getExtra(before, plain.slice(0, plain.indexOf(ANSWER)));
  if (openedBeyondAnswer !== '') return openedBeyondAnswer;
  const openedBeyondPrompt = off === undefined ? '' : getExtra(before, off);
  if (openedBeyondPrompt !== '') return openedBeyondPrompt;
  // Some templates open every thought in the prompt and write no mark before earlier ones.
  const openedOnly = getExtra(on, before);
  return openedOnly === '' ? LAST_TAG.exec(before)?.[0] : openedOnly;
}

/** Returns what a text has beyond the marks that both start with, or '' where these are only blanks. */
function getExtra(text: string, other: string): string {
  const marks = splitMarks(text);
  const extra = marks.slice(countCommonMarks(marks, splitMarks(other))).join('');
  return extra.trim() === '' ? '' : extra;
}

const TAG = /^(?:<[^<>\s]+>|\[\/?[A-Z_]+\]|[◁〈][^\s▷〉]+[▷〉])/;
const LAST_TAG = /(?:<[^<>\s]+>|\[[A-Z_]+\]|[◁〈][^\s▷〉]+[▷〉])\s*$/;

/**
 * Returns the mark that ends a thought: the first tag after it, with as much more as distinguishes it from the end of the
 * turn; the whole text where it is no tag.
 *
 * @param turnEnd Text after the answer.
 */
function findClose(middle: string, turnEnd: string): string | undefined {
  const text = middle.trim();
  if (text === '') return undefined;
  if (!TAG.test(text)) return text.split('\n', 1)[0];
  const marks = splitMarks(text);
  let count = 1;
  while (count < marks.length && turnEnd.includes(marks.slice(0, count).join(''))) count++;
  // A tag that a word extends has an end of its own.
  if (count > 1 && !TAG.test(marks[count - 1] ?? '') && TAG.test(marks[count] ?? '')) count++;
  return marks.slice(0, count).join('');
}

/** Derives the marks from prompts: one opens a thought, and another closes it at once. */
function deriveFromPrompts({ on, off, plain }: Turns, source: string): ThoughtFormat | undefined {
  for (const prompt of [off, on]) {
    const empty = /(<[^<>\s]+>|\[[A-Z_]+\])(\s*)(<[^<>\s]+>|\[\/[A-Z_]+\])\s*$/.exec(prompt ?? '');
    const [, open = '', blanks = '', close = ''] = empty ?? [];
    if (empty && arePaired(open, close)) return createFormat(open + blanks.slice(0, 1), close);
  }
  const open = LAST_TAG.exec(on ?? '')?.[0] ?? '';
  // A mark of the role also stands before an answer without a thought.
  if (plain?.split(ANSWER)[0]?.endsWith(open) === true) return undefined;
  // The mark of a thought whose end the template never shows ends as all of its kind do.
  const close = findPaired(open.trim(), source) ?? listPairs(open.match(THOUGHT_TAGS)?.[0] ?? '')[0];
  return close === undefined ? undefined : createFormat(open, close);
}

/** Derives the marks from those that the prompt with thinking explains, or that the template's text contains. */
function deriveFromText({ wholeOn }: Turns, source: string): ThoughtFormat | undefined {
  const known =
    EXPLAINED_PHRASES.find(([open, close]) => wholeOn.includes(open) && wholeOn.includes(close)) ??
    KNOWN_MARKS.find(([open]) => source.includes(open));
  if (known) return createFormat(...known);
  for (const text of [wholeOn, source])
    for (const [open] of text.matchAll(THOUGHT_TAGS)) {
      const close = findPaired(open, text);
      if (close === undefined) continue;
      const explainsAnswer = wholeOn.includes('<response>') && wholeOn.includes('</response>');
      const format = createFormat(`${open}\n`, close);
      return explainsAnswer ? { ...format, answerOpenings: ['<response>'], answerClose: '</response>' } : format;
    }
  // Some templates only cut earlier thoughts at their closing mark.
  return source.includes(USUAL_THOUGHTS.close) ? { ...USUAL_THOUGHTS, isShown: true } : undefined;
}

/** Phrases that the system message of some models explains instead of tags. */
const EXPLAINED_PHRASES: readonly (readonly [open: string, close: string])[] = [
  ['Here is my thought process:', 'Here is my response:'],
];

/** Marks that do not follow from each other, of models whose templates write thoughts in ways of their own. */
const KNOWN_MARKS: readonly (readonly [open: string, close: string])[] = [
  ['<|inner_prefix|>', '<|inner_suffix|>'],
  ['<unused94>thought\n', '<unused95>'],
];

const THOUGHT_TAGS = /<(?:[\w:]*think[\w:]*|reasoning|thoughts?)>|\[THINK\]|◁think▷|<\|START_THINKING\|>/g;

/** Returns the closing mark of an opening one if the text contains it. */
const findPaired = (open: string, text: string): string | undefined =>
  listPairs(open).find((close) => text.includes(close));

/** Lists the closing marks that an opening one may have. */
const listPairs = (open: string): string[] =>
  [
    open.replace(/START|BEGIN/, 'END'),
    open.replace(/start|begin/, 'end'),
    open.replace(/^([<[◁〈][|｜]?)/, '$1/'),
  ].filter((close) => close !== open);

const arePaired = (open: string, close: string): boolean => findPaired(open, close) === close;

/** @param closing With the blanks around it, or only the mark: then it gets a line of its own where the opening has one. */
const createFormat = (opening: string, closing: string): ThoughtFormat => ({
  open: opening.trim(),
  close: closing.trim(),
  opening: opening.trimStart(),
  closing: closing === closing.trim() && opening.endsWith('\n') ? `\n${closing}\n\n` : closing,
  answerOpenings: [],
  answerClose: '',
  isShown: true,
});

/** Lists the text before an answer, if any; blanks after a tag may be missing, those after a word belong to the mark. */
function listAnswerOpenings(text: string): string[] {
  const trimmed = text.trimEnd();
  if (trimmed === '') return [];
  return [LAST_TAG.test(trimmed) ? trimmed : text];
}

/** A tag, or the name of a channel on a line of its own. */
const ANSWER_OPENING = new RegExp(`${TAG.source}|^\\w+\\n$`);

/** Adds marks around answers, as the template writes them in an answer without a thought. */
function addAnswerMarks(format: ThoughtFormat, { on, off, plain }: Turns): ThoughtFormat {
  const [before, after] = plain?.split(ANSWER) ?? [];
  if (on === undefined || before === undefined || after === undefined) return format;
  const { open, close } = format;
  const prompt = findPromptEnd(on, format) === 'opened' ? on.slice(0, on.lastIndexOf(open)) : on;
  const rest = getExtra(before, prompt);
  const answerOpening = rest.slice(rest.includes(close) ? rest.lastIndexOf(close) + close.length : 0).trimStart();
  const isUseful =
    ANSWER_OPENING.test(answerOpening) && !answerOpening.includes(open) && !(off ?? '').endsWith(answerOpening);
  return {
    ...format,
    answerOpenings: [...new Set([...format.answerOpenings, ...(isUseful ? listAnswerOpenings(answerOpening) : [])])],
    answerClose: format.answerClose || findAnswerClose(after, on),
  };
}

/** Returns the tags after an answer that belong to it and not to the end of the turn, which a question has too. */
function findAnswerClose(after: string, afterQuestion: string): string {
  const marks = splitMarks(after);
  const turnEnd = splitMarks(afterQuestion);
  const start = marks.findIndex((_, at) => {
    const common = countCommonMarks(marks.slice(at), turnEnd);
    return common > 1 || (common > 0 && at + common === marks.length);
  });
  const close = marks.slice(0, Math.max(0, start)).join('').trim();
  return TAG.test(close) ? close : '';
}

/** Whether the thought is recognized in an answer as the template writes it. */
function parsesBack(format: ThoughtFormat, answer: string): boolean {
  const { reasoning } = readThoughts(`${answer}${ANSWER}`, format);
  return reasoning === THOUGHT;
}
