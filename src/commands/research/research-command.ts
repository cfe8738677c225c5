import { setTimeout as pauseFor } from 'node:timers/promises';
import { Command } from 'commander';
import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Research } from '../../core/research.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Every } from '../../lib/every.ts';
import { untilInterrupted } from '../until-interrupted.ts';
import { isTaken, type WatchStream } from '../watch.ts';
import type { AskPerson } from './ask-person.ts';
import type { ResearchRecord } from './record.ts';
import { chooseTarget, writeReport, type ReportTarget } from './report-files.ts';
import { reportHtml } from './report-html.ts';
import { reportMarkdown } from './report-markdown.ts';
import { noPreference, reportWords } from './report-words.ts';
import { createResearchDisplay, type ResearchDisplay } from './research-display.ts';
import { runResearch } from './run-research.ts';
import type { Pause } from './steady-steps.ts';

export interface OpenResearch {
  readonly research: Research;
  /** Whose the work is. One for each run. */
  context(signal: AbortSignal): RequestContext;
  close(): Promise<void>;
}

export interface ResearchCommandNeeds {
  /**
   * Opens models, search and pages of the effective configuration; no server has to run.
   * @param flags Options of the command and of those above it, by name.
   * @param warn Of what goes wrong and ends nothing.
   */
  readonly open: (flags: Readonly<Record<string, unknown>>, warn: Log['warn']) => Promise<OpenResearch>;
  /** Undefined: nobody is there to answer. */
  readonly ask: AskPerson | undefined;
  readonly clock: Clock;
  readonly every: Every;
  /** Paths of the report, or the report itself with `--out -`. */
  readonly stdout: WatchStream;
  /** How far it is. */
  readonly stderr: WatchStream;
  /** Whether a terminal is shown bold and dim text. */
  readonly isStyled: boolean;
  /** Before a step is tried again; rejects soon when the signal aborts. */
  readonly pause?: Pause;
  /** What ends a run, if not Ctrl-C. */
  readonly untilStopped?: typeof untilInterrupted;
}

interface ResearchOptions {
  readonly answer?: string;
  readonly summary?: true;
  readonly out?: string;
  readonly model: string;
  readonly force?: true;
}

/** The research model of the shipped catalogue. */
const RESEARCH_MODEL = 'svc-deep-research';

const NOTHING_FOUND =
  'Nothing was found that could be reported. `parley index search "..."` shows what the local index has of a question.';

/** Ours, in ms: between two looks at the time. */
const TICK_MS = 1_000;

/** `parley research`: looks into a question, and writes what it found with its sources. */
export function researchCommand(needs: ResearchCommandNeeds): Command {
  return new Command('research')
    .description('look into a question, and write a report with its sources')
    .argument('<question...>', 'in words')
    .option('--answer <text>', 'to the question that is asked back (default: you are asked at a terminal)')
    .option('--summary', 'a short report instead of a detailed one')
    .option('--out <place>', 'a file, a folder, or - for Markdown on standard output (default: this folder)')
    .option('--model <name>', 'which research model', RESEARCH_MODEL)
    .option('--force', 'replace files that exist')
    .action(async (words: readonly string[], options: ResearchOptions, command: Command) => {
      const question = words.join(' ').trim();
      if (question === '') throw new ServiceError('invalid-request', 'The question is empty.', { param: 'question' });
      const target = await chooseTarget({ out: options.out, question, isForced: options.force === true });
      const record = await look(needs, { question, options, flags: command.optsWithGlobals() });
      await hand(needs, target, record);
    });
}

interface Look {
  readonly question: string;
  readonly options: ResearchOptions;
  readonly flags: Readonly<Record<string, unknown>>;
}

async function look(needs: ResearchCommandNeeds, { question, options, flags }: Look): Promise<ResearchRecord> {
  const {
    clock,
    stderr,
    isStyled,
    pause = (ms, signal) => pauseFor(ms, undefined, { signal }),
    untilStopped = untilInterrupted,
  } = needs;
  const beganAt = clock.monotonic();
  const display = createResearchDisplay({ stream: stderr, isStyled, elapsedMs: () => clock.monotonic() - beganAt });
  const stopTicks = stderr.isTTY ? needs.every(TICK_MS, display.tick) : undefined;
  display.title(question);
  display.phase('Opening');
  try {
    // Closing is part of it: what a signal ends is ended in order.
    return await untilStopped('Stopped. Nothing was written.', async (signal) => {
      const opened = await needs.open(flags, display.warn);
      try {
        const record = await runResearch(
          {
            question,
            model: options.model,
            reportSize: options.summary ? 'summary' : 'detailed',
            answer: (gone) => answerOf(needs, { question, given: options.answer, display, signal: gone }),
          },
          { research: opened.research, context: opened.context(signal), clock, pause, display },
        );
        display.summary(record);
        return record;
      } finally {
        display.clear();
        await opened.close();
      }
    });
  } finally {
    stopTicks?.();
    display.clear();
  }
}

interface Answering {
  readonly question: string;
  readonly given: string | undefined;
  readonly display: ResearchDisplay;
  readonly signal: AbortSignal;
}

/** The one that was given with the command, or a person's; else one that leaves all open. It is shown where nobody typed it. */
async function answerOf(
  { ask }: ResearchCommandNeeds,
  { question, given, display, signal }: Answering,
): Promise<string> {
  const typed = given === undefined && ask ? (await ask('> ', signal)).trim() : undefined;
  const answer = typed || given?.trim() || noPreference(question);
  if (typed !== answer) display.said('Answer', answer);
  return answer;
}

async function hand(
  { stdout, stderr }: ResearchCommandNeeds,
  target: ReportTarget,
  record: ResearchRecord,
): Promise<void> {
  if (record.references.length === 0) stderr.write(`${NOTHING_FOUND}\n`);
  if (record.isCutShort) stderr.write(`${reportWords(undefined).cutShort}\n`);
  if (target.type === 'stdout') return void (await isTaken(stdout, reportMarkdown(record)));
  const markdown = reportMarkdown(record);
  try {
    const paths = await writeReport(target, { md: markdown, html: reportHtml(record) });
    stdout.write(paths.map((path) => `${path}\n`).join(''));
  } catch (error) {
    // All that work is not thrown away for a full disk.
    await isTaken(stdout, markdown);
    throw error;
  }
}
