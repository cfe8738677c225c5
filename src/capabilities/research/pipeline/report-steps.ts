import type { RequestContext } from '../../../core/context.ts';
import { RESEARCH_REPORT_TOKENS } from './limits.ts';
import type { Reference, ReportSize, ResearchEvent, ResearchStep } from '../research.ts';
import { chooseNotes } from './choose-notes.ts';
import type { TokenCounter } from './token-counter.ts';
import { NO_TOKEN_USAGE, addTokenUsage } from './step-record.ts';
import type { StepRecord, SearchEndReason, ReportSentence, TokenUsage } from './step-record.ts';
import { createSentenceIndex } from './sentence-index.ts';
import type { SentenceIndex } from './sentence-index.ts';
import type { RunModel } from './run-model.ts';
import { FURTHER_FINDINGS_HEADINGS, createShortfallNote } from './report-texts.ts';
import { listUnusedNotes, getSectionBudget, estimateNoteTokens } from './section-budget.ts';
import { joinSentences, addCitationMark } from './sentences.ts';
import type { CollectedNote, ResearchState } from './state.ts';
import { listMissingWords } from './relevance-terms.ts';
import type { Topic } from './topic.ts';
import { writeParagraph } from './write-paragraph.ts';
import type { Paragraph } from './write-paragraph.ts';

export interface ReportContext {
  readonly state: ResearchState;
  readonly size: ReportSize;
  readonly topic: Topic;
  readonly countTokens: TokenCounter;
  /** Undefined when no model may write: sentences of the notes are quoted instead. */
  readonly runModel: RunModel | undefined;
  /** The page budget is used up. */
  readonly isOutOfPages: boolean;
}

/** Creates the step that starts the report with its title. No search follows it. */
export async function startReport(
  { state, countTokens }: ReportContext,
  searchEnd: SearchEndReason,
  context: RequestContext,
): Promise<ResearchStep> {
  const text = `# ${state.plan?.title ?? ''}\n`;
  const record: StepRecord = { type: 'opening', searchEnd, tokens: await countTokens(text, context) };
  return { events: [{ type: 'report', text }], state: record };
}

/** Sections and reports that lack at most this many tokens count as complete. */
const SLACK_TOKENS = 40;

/**
 * Creates the next paragraph, with the heading at the start of a section. Returns undefined when the report is complete
 * or no note is left.
 */
export async function createNextParagraph(
  reportContext: ReportContext,
  context: RequestContext,
): Promise<ResearchStep | undefined> {
  const { state, size, topic } = reportContext;
  const { target } = RESEARCH_REPORT_TOKENS[size];
  const sections = state.plan?.sections ?? [];
  const writtenSentences = state.sentences.map(({ text }) => text);
  const sentenceIndex = createSentenceIndex(writtenSentences);
  const writeSection = (
    part: Omit<SectionInput, 'writtenSentences' | 'sentenceIndex'>,
  ): Promise<ResearchStep | undefined> =>
    createSectionParagraph(reportContext, { ...part, writtenSentences, sentenceIndex }, context);
  for (let section = state.section; section < sections.length; section++) {
    const heading = sections[section]?.heading ?? '';
    const tokensLeft = getSectionBudget(state, section, target);
    const step = await writeSection({
      section,
      heading,
      tokensLeft,
      unusedNotes: listUnusedNotes(state, section),
    });
    if (step) return step;
  }
  return await writeSection({
    section: sections.length,
    heading: FURTHER_FINDINGS_HEADINGS[topic.language],
    tokensLeft: target - state.tokens,
    unusedNotes: listUnusedNotes(state, sections.length),
  });
}

interface SectionInput {
  readonly section: number;
  readonly heading: string;
  /** Tokens that the section may still use. */
  readonly tokensLeft: number;
  readonly unusedNotes: readonly CollectedNote[];
  readonly writtenSentences: readonly string[];
  readonly sentenceIndex: SentenceIndex;
}

/**
 * Creates the next paragraph of a section. Returns undefined when the section is complete or no note is left for it.
 */
async function createSectionParagraph(
  reportContext: ReportContext,
  { section, heading, tokensLeft, unusedNotes, writtenSentences, sentenceIndex }: SectionInput,
  context: RequestContext,
): Promise<ResearchStep | undefined> {
  const { state, size, topic, runModel } = reportContext;
  if (tokensLeft < SLACK_TOKENS) return undefined;
  const unshownNotes = chooseNotes(
    unusedNotes.filter(({ id }) => !state.shownNotes.has(id)),
    sentenceIndex,
  );
  const usesModel = runModel !== undefined && unshownNotes.length > 1 && state.writerFailures < WRITER_FAILURES_MAX;
  const notes = usesModel ? unshownNotes : chooseNotes(unusedNotes, sentenceIndex);
  if (notes.length === 0) return undefined;
  const task = { title: state.plan?.title ?? '', heading, notes, language: topic.language };
  const written = usesModel ? await writeParagraph(task, writtenSentences, runModel, context) : NO_PARAGRAPH;
  const paragraph =
    written.sentences.length > 0
      ? written
      : { ...quoteNotes(notes, writtenSentences, tokensLeft), usage: written.usage };
  const isFirst = state.section !== section || state.sectionTokens === 0;
  const draft = {
    section,
    head: isFirst ? `\n## ${heading}\n\n` : '\n',
    paragraph: { ...paragraph, isFailed: written.isFailed },
    shown: usesModel ? notes.map(({ id }) => id) : [],
    tokensMax: RESEARCH_REPORT_TOKENS[size].max - state.tokens,
  };
  return await createParagraphStep(reportContext, draft, context);
}

/** Number of failed model calls after which the rest of the report is quoted from notes. */
const WRITER_FAILURES_MAX = 2;

const NO_PARAGRAPH: Paragraph = { sentences: [], usedNotes: [], usage: NO_TOKEN_USAGE, isFailed: false };

/** Quotes sentences of the notes verbatim, as many as `tokensLeft` allows and at least one note. */
function quoteNotes(
  notes: readonly CollectedNote[],
  writtenSentences: readonly string[],
  tokensLeft: number,
): Paragraph {
  const sentenceIndex = createSentenceIndex(writtenSentences);
  const sentences: ReportSentence[] = [];
  const used: number[] = [];
  let tokens = 0;
  for (const note of notes) {
    if (used.length > 0 && tokens + estimateNoteTokens(note) > tokensLeft + SLACK_TOKENS) break;
    used.push(note.id);
    for (const text of note.sentences) {
      // A dependent sentence would now refer to a different sentence.
      if (sentenceIndex.hasSimilar(text)) break;
      sentenceIndex.add(text);
      sentences.push({ text, site: note.site });
    }
    tokens += estimateNoteTokens(note);
  }
  return { sentences, usedNotes: used, usage: NO_TOKEN_USAGE, isFailed: false };
}

interface ParagraphDraft {
  readonly section: number;
  readonly head: string;
  readonly paragraph: Paragraph;
  readonly shown: readonly number[];
  readonly tokensMax: number;
}

/** Keeps as many sentences as the token limit of the report allows. */
async function createParagraphStep(
  { state, countTokens }: ReportContext,
  { section, head, paragraph, shown, tokensMax }: ParagraphDraft,
  context: RequestContext,
): Promise<ResearchStep> {
  const { usedNotes, usage, isFailed } = paragraph;
  let { sentences } = paragraph;
  let text = formatParagraph(sentences, state, head);
  let tokens = await countTokens(text, context);
  while (tokens > tokensMax && sentences.length > 0) {
    sentences = sentences.slice(0, -1);
    text = formatParagraph(sentences, state, head);
    tokens = await countTokens(text, context);
  }
  if (sentences.length === 0) [text, tokens] = ['', 0];
  const cited = mergeCitedSites(state, sentences);
  const isNew = cited.length > state.citedSites.length;
  const record: StepRecord = {
    type: 'paragraph',
    section,
    sentences,
    used: usedNotes,
    shown,
    tokens,
    spent: usage,
    isFailed,
  };
  const usageEvents =
    usage.inputTokens + usage.outputTokens > 0 ? [createUsageEvent(addTokenUsage(state.usage, usage))] : [];
  const report: ResearchEvent[] =
    text === '' ? [] : [{ type: 'report', text, ...(isNew ? { references: listReferences(state, cited) } : {}) }];
  return { events: [...usageEvents, ...report], state: record };
}

const createUsageEvent = (usage: TokenUsage): ResearchEvent => ({ type: 'usage', ...usage });

function formatParagraph(sentences: readonly ReportSentence[], state: ResearchState, head: string): string {
  const cited = mergeCitedSites(state, sentences);
  return `${head}${joinSentences(sentences.map(({ text, site }) => addCitationMark(text, cited.indexOf(site) + 1)))}\n`;
}

const mergeCitedSites = ({ citedSites }: ResearchState, sentences: readonly ReportSentence[]): readonly number[] => [
  ...new Set([...citedSites, ...sentences.map(({ site }) => site)]),
];

function listReferences({ sites }: ResearchState, cited: readonly number[]): readonly Reference[] {
  const known = new Map(sites.map((site) => [site.number, site]));
  return cited.flatMap((number, at) => {
    const site = known.get(number);
    if (!site) return [];
    const { title, description, url, icon } = site;
    return [{ index: at + 1, title, description, url, icon }];
  });
}

/**
 * Creates the last step. A report that is short, or does not mention all words of the question, says what was searched
 * and what was not found; the reason is `length` when a budget limited the search.
 */
export function finishReport({ state, size, topic, isOutOfPages }: ReportContext): ResearchStep {
  const isShort = state.tokens < RESEARCH_REPORT_TOKENS[size].min;
  const isBudgetUsed = state.searchEndReason !== 'done' || (isOutOfPages && state.sites.length > state.pages.size);
  const reason = isShort && isBudgetUsed ? 'length' : 'stop';
  const missingWords = listMissingWords(
    topic,
    state.sentences.map(({ text }) => text),
  );
  const note: ResearchEvent[] =
    isShort || missingWords.length > 0
      ? [{ type: 'report', text: `\n${createShortfallNote(state, { missingWords, isShort }, topic.language)}\n` }]
      : [];
  const record: StepRecord = { type: 'end', reason };
  return { events: [...note, { type: 'end', reason }], state: record };
}
