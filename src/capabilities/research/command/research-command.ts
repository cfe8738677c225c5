import { setTimeout as pauseFor } from 'node:timers/promises';
import { Command } from 'commander';
import { ServiceError } from '../../../core/error.ts';
import type { Log } from '../../../core/telemetry.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { StartInterval } from '../../../lib/start-interval.ts';
import { runUntilInterrupted } from '../../../commands/run-until-interrupted.ts';
import { tryWrite, type TerminalStream } from '../../../commands/terminal-stream.ts';
import { NOTHING_WRITTEN, type AskUser } from './ask-user.ts';
import type { ResearchRunner } from './open-research-runner.ts';
import type { ResearchRecord } from './research-record.ts';
import { chooseTarget, writeReportFiles, type ReportTarget } from './report-files.ts';
import { formatReportHtml } from './format-report-html.ts';
import { formatReportMarkdown } from './format-report-markdown.ts';
import { getDefaultAnswer, getReportLabels } from './report-labels.ts';
import { createResearchDisplay, type ResearchDisplay } from './research-display.ts';
import { runResearch } from './run-research.ts';
import type { Pause } from './run-steps-with-retries.ts';

export interface ResearchCommandDeps {
  /**
   * Opens the configured models, search and page reader. No server has to run.
   * @param flags Options of the command and its parent commands, by name.
   * @param warn Receives problems that do not stop the run.
   */
  readonly open: (flags: Readonly<Record<string, unknown>>, warn: Log['warn']) => Promise<ResearchRunner>;
  /** Undefined without a terminal. */
  readonly askUser: AskUser | undefined;
  readonly clock: Clock;
  readonly startInterval: StartInterval;
  /** Receives the paths of the report files, or the report itself with `--out -`. */
  readonly stdout: TerminalStream;
  /** Receives the progress. */
  readonly stderr: TerminalStream;
  /** Whether to use bold and dim text. */
  readonly isStyled: boolean;
  /** Pauses before a retry. Rejects soon after the signal aborts. */
  readonly pause?: Pause;
  /** Replaces Ctrl-C in tests. */
  readonly runUntilStopped?: typeof runUntilInterrupted;
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

const NOTHING_FOUND_MESSAGE =
  'The report has no sources: the research found nothing to report. Check the search providers, or `parley index search "QUESTION"` for the local index.';

/** Interval in ms at which the elapsed time is redrawn; Parley's choice. */
const TICK_MS = 1_000;

/** Creates `parley research`, which researches a question and writes a report with sources. */
export function createResearchCommand(deps: ResearchCommandDeps): Command {
  return new Command('research')
    .description('research a question and write a report with sources')
    .argument('<question...>', 'question in natural language')
    .option('--answer <text>', 'answer to the clarifying question (default: asked at the terminal)')
    .option('--summary', 'write a short report instead of a detailed one')
    .option('--out <place>', 'file, folder, or - for Markdown on standard output (default: the current folder)')
    .option('--model <name>', 'research model', RESEARCH_MODEL)
    .option('--force', 'overwrite existing files')
    .action(async (words: readonly string[], options: ResearchOptions, command: Command) => {
      const question = words.join(' ').trim();
      if (question === '')
        throw new ServiceError('invalid-request', 'The question must not be empty.', { param: 'question' });
      const target = await chooseTarget({ out: options.out, question, canOverwrite: options.force === true });
      const record = await conductResearch(deps, { question, options, flags: command.optsWithGlobals() });
      await outputReport(deps, target, record);
    });
}

interface ResearchInput {
  readonly question: string;
  readonly options: ResearchOptions;
  readonly flags: Readonly<Record<string, unknown>>;
}

async function conductResearch(
  deps: ResearchCommandDeps,
  { question, options, flags }: ResearchInput,
): Promise<ResearchRecord> {
  const {
    clock,
    stderr,
    isStyled,
    pause = (ms, signal) => pauseFor(ms, undefined, { signal }),
    runUntilStopped = runUntilInterrupted,
  } = deps;
  const startedAt = clock.monotonic();
  const display = createResearchDisplay({ stream: stderr, isStyled, elapsedMs: () => clock.monotonic() - startedAt });
  const stopTicks = stderr.isTTY ? deps.startInterval(TICK_MS, display.tick) : undefined;
  display.title(question);
  display.phase('Opening');
  try {
    // Closing belongs to the interruptible part, so that a signal also closes everything in order.
    return await runUntilStopped(NOTHING_WRITTEN, async (signal) => {
      const context = await deps.open(flags, display.warn);
      try {
        const record = await runResearch(
          {
            question,
            model: options.model,
            reportSize: options.summary ? 'summary' : 'detailed',
            answer: (answerSignal) =>
              getAnswer(deps, { question, answerOption: options.answer, display, signal: answerSignal }),
          },
          { research: context.research, context: context.createContext(signal), clock, pause, display },
        );
        display.summary(record);
        return record;
      } finally {
        display.clear();
        await context.close();
      }
    });
  } finally {
    stopTicks?.();
    display.clear();
  }
}

interface AnswerOptions {
  readonly question: string;
  readonly answerOption: string | undefined;
  readonly display: ResearchDisplay;
  readonly signal: AbortSignal;
}

/**
 * Returns the answer of `--answer` or of the user, else one without preferences. Shows the answer unless the user typed
 * it.
 */
async function getAnswer(
  { askUser }: ResearchCommandDeps,
  { question, answerOption, display, signal }: AnswerOptions,
): Promise<string> {
  const typed = answerOption === undefined && askUser ? (await askUser('> ', signal)).trim() : undefined;
  const answer = typed || answerOption?.trim() || getDefaultAnswer(question);
  if (typed !== answer) display.showText('Answer', answer);
  return answer;
}

async function outputReport(
  { stdout, stderr }: ResearchCommandDeps,
  target: ReportTarget,
  record: ResearchRecord,
): Promise<void> {
  if (record.references.length === 0) stderr.write(`${NOTHING_FOUND_MESSAGE}\n`);
  if (record.isTruncated) stderr.write(`${getReportLabels(undefined).truncationNote}\n`);
  if (target.type === 'stdout') return void (await tryWrite(stdout, formatReportMarkdown(record)));
  const markdown = formatReportMarkdown(record);
  try {
    const paths = await writeReportFiles(target, { md: markdown, html: formatReportHtml(record) });
    stdout.write(paths.map((path) => `${path}\n`).join(''));
  } catch (error) {
    // The report must not be lost because of, e.g., a full disk.
    await tryWrite(stdout, markdown);
    throw error;
  }
}
