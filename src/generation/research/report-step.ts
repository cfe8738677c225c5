import type { RequestContext } from '../../core/context.ts';
import { RESEARCH_REPORT_TOKENS } from '../../core/limits.ts';
import type { Reference, ReportSize, ResearchEvent, ResearchStep } from '../../core/research.ts';
import { chooseNotes } from './choose-notes.ts';
import type { CountTokens } from './count-tokens.ts';
import { NOTHING_SPENT, sumOfSpent } from './kept.ts';
import type { Kept, SearchEnd, WrittenSentence } from './kept.ts';
import { createSaidSentences } from './likeness.ts';
import type { SaidSentences } from './likeness.ts';
import type { AskModel } from './model-run.ts';
import { FURTHER, shortfallNote } from './own-words.ts';
import { asidesLeft, notesLeft, sectionRoom, tokensOfNote } from './section-room.ts';
import { joined, withMark } from './sentences.ts';
import type { HeldNote, ResearchState } from './state.ts';
import type { OwnLanguage } from './topic.ts';
import { writeParagraph } from './write-paragraph.ts';
import type { Paragraph } from './write-paragraph.ts';

export interface ReportPlace {
  readonly state: ResearchState;
  readonly size: ReportSize;
  readonly language: OwnLanguage;
  readonly count: CountTokens;
  /** Absent: nobody writes but by sentences of the notes. */
  readonly ask: AskModel | undefined;
  /** The budget of pages is used up. */
  readonly isOutOfPages: boolean;
}

/** The title; nothing is searched behind it. */
export async function openReport(
  { state, count }: ReportPlace,
  searchEnd: SearchEnd,
  context: RequestContext,
): Promise<ResearchStep> {
  const text = `# ${state.plan?.title ?? ''}\n`;
  const keep: Kept = { type: 'opening', searchEnd, tokens: await count(text, context) };
  return { tell: [{ type: 'report', text }], keep };
}

/** Ours: parts and reports that lack so little are whole. */
const SLACK_TOKENS = 40;

/** The next paragraph, with its heading where it is the first of its part; undefined where the report is whole or nothing is left. */
export async function nextParagraph(place: ReportPlace, context: RequestContext): Promise<ResearchStep | undefined> {
  const { state, size, language } = place;
  const { wished, min } = RESEARCH_REPORT_TOKENS[size];
  const enough = min + SLACK_TOKENS * 3;
  const sections = state.plan?.sections ?? [];
  const said = state.sentences.map(({ text }) => text);
  const known = createSaidSentences(said);
  const paragraphOf = (part: Omit<Part, 'said' | 'known'>): Promise<ResearchStep | undefined> =>
    partParagraph(place, { ...part, said, known }, context);
  for (let section = state.section; section < sections.length; section++) {
    const heading = sections[section]?.heading ?? '';
    const room = sectionRoom(state, section, wished);
    const step = await paragraphOf({ section, heading, room, left: notesLeft(state, section) });
    if (step) return step;
  }
  const further = { section: sections.length, heading: FURTHER[language] };
  return (
    (await paragraphOf({ ...further, room: wished - state.tokens, left: notesLeft(state, sections.length) })) ??
    (await paragraphOf({ ...further, room: enough - state.tokens, left: asidesLeft(state, enough - state.tokens) }))
  );
}

interface Part {
  readonly section: number;
  readonly heading: string;
  /** Tokens that it may still take. */
  readonly room: number;
  readonly left: readonly HeldNote[];
  readonly said: readonly string[];
  readonly known: SaidSentences;
}

/** The next paragraph of a part; undefined where it is whole or nothing is left for it. */
async function partParagraph(
  place: ReportPlace,
  { section, heading, room, left, said, known }: Part,
  context: RequestContext,
): Promise<ResearchStep | undefined> {
  const { state, size, language, ask } = place;
  if (room < SLACK_TOKENS) return undefined;
  const unshown = chooseNotes(
    left.filter(({ id }) => !state.shown.has(id)),
    known,
  );
  const isModels = ask !== undefined && unshown.length > 1 && state.writerFailures < WRITER_FAILURES_MAX;
  const notes = isModels ? unshown : chooseNotes(left, known);
  if (notes.length === 0) return undefined;
  const task = { title: state.plan?.title ?? '', heading, notes, language };
  const written = isModels ? await writeParagraph(task, said, ask, context) : NOTHING;
  const paragraph = written.sentences.length > 0 ? written : { ...fromNotes(notes, said, room), spent: written.spent };
  const isFirst = state.section !== section || state.sectionTokens === 0;
  const writing = {
    section,
    head: isFirst ? `\n## ${heading}\n\n` : '\n',
    paragraph: { ...paragraph, isFailed: written.isFailed },
    shown: isModels ? notes.map(({ id }) => id) : [],
    tokensMax: RESEARCH_REPORT_TOKENS[size].max - state.tokens,
  };
  return await told(place, writing, context);
}

/** Ours: after so many paragraphs that it could not be asked for, the model is left alone. */
const WRITER_FAILURES_MAX = 2;

const NOTHING: Paragraph = { sentences: [], used: [], spent: NOTHING_SPENT, isFailed: false };

/** Sentences word by word: as many as there is room for, one note at least. */
function fromNotes(notes: readonly HeldNote[], before: readonly string[], room: number): Paragraph {
  const said = createSaidSentences(before);
  const sentences: WrittenSentence[] = [];
  const used: number[] = [];
  let tokens = 0;
  for (const note of notes) {
    if (used.length > 0 && tokens + tokensOfNote(note) > room + SLACK_TOKENS) break;
    used.push(note.id);
    for (const text of note.sentences) {
      // What leans on a sentence that was said elsewhere would lean on another one here.
      if (said.hasLike(text)) break;
      said.add(text);
      sentences.push({ text, site: note.site });
    }
    tokens += tokensOfNote(note);
  }
  return { sentences, used, spent: NOTHING_SPENT, isFailed: false };
}

interface Written {
  readonly section: number;
  readonly head: string;
  readonly paragraph: Paragraph;
  readonly shown: readonly number[];
  readonly tokensMax: number;
}

/** With as many of its sentences as the report still holds. */
async function told(
  { state, count }: ReportPlace,
  { section, head, paragraph, shown, tokensMax }: Written,
  context: RequestContext,
): Promise<ResearchStep> {
  const { used, spent, isFailed } = paragraph;
  let { sentences } = paragraph;
  let text = textOf(sentences, state, head);
  let tokens = await count(text, context);
  while (tokens > tokensMax && sentences.length > 0) {
    sentences = sentences.slice(0, -1);
    text = textOf(sentences, state, head);
    tokens = await count(text, context);
  }
  if (sentences.length === 0) [text, tokens] = ['', 0];
  const cited = citedAfter(state, sentences);
  const isNew = cited.length > state.cited.length;
  const keep: Kept = { type: 'paragraph', section, sentences, used, shown, tokens, spent, isFailed };
  const usage = spent.inputTokens + spent.outputTokens > 0 ? [usageOf(sumOfSpent(state.spent, spent))] : [];
  const report: ResearchEvent[] =
    text === '' ? [] : [{ type: 'report', text, ...(isNew ? { references: referencesOf(state, cited) } : {}) }];
  return { tell: [...usage, ...report], keep };
}

const usageOf = (spent: ResearchState['spent']): ResearchEvent => ({ type: 'usage', ...spent });

function textOf(sentences: readonly WrittenSentence[], state: ResearchState, head: string): string {
  const cited = citedAfter(state, sentences);
  return `${head}${joined(sentences.map(({ text, site }) => withMark(text, cited.indexOf(site) + 1)))}\n`;
}

const citedAfter = ({ cited }: ResearchState, sentences: readonly WrittenSentence[]): readonly number[] => [
  ...new Set([...cited, ...sentences.map(({ site }) => site)]),
];

function referencesOf({ sites }: ResearchState, cited: readonly number[]): readonly Reference[] {
  const known = new Map(sites.map((site) => [site.number, site]));
  return cited.flatMap((number, at) => {
    const site = known.get(number);
    if (!site) return [];
    const { title, description, url, icon } = site;
    return [{ index: at + 1, title, description, url, icon }];
  });
}

/** The last step. A report that is short says what was looked for; a budget that kept more from being found is the reason. */
export function endReport({ state, size, language, isOutOfPages }: ReportPlace): ResearchStep {
  const isShort = state.tokens < RESEARCH_REPORT_TOKENS[size].min;
  const isEnded = state.searchEnd !== 'done' || (isOutOfPages && state.sites.length > state.pages.size);
  const reason = isShort && isEnded ? 'length' : 'stop';
  const note: ResearchEvent[] = isShort ? [{ type: 'report', text: `\n${shortfallNote(state, language)}\n` }] : [];
  const keep: Kept = { type: 'end', reason };
  return { tell: [...note, { type: 'end', reason }], keep };
}
