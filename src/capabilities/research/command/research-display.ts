import type { ResearchEvent, ResearchSite } from '../research.ts';
import type { Log } from '../../../core/telemetry.ts';
import { createTerminalRedraw, type TerminalStream } from '../../../commands/terminal-stream.ts';
import {
  formatQuantity,
  countWords,
  formatCount,
  formatElapsed,
  getSourceHost,
  getIndexDocumentName,
  toSingleLine,
} from './format-text.ts';
import type { ResearchRecord } from './research-record.ts';
import { createSectionCounter } from './section-counter.ts';

export interface ResearchDisplayDeps {
  readonly stream: TerminalStream;
  /** Whether to use bold and dim text. */
  readonly isStyled: boolean;
  /** Returns the time since the start of the command in ms. */
  readonly elapsedMs: () => number;
}

export interface ResearchDisplay {
  /** Sets the current activity, which a terminal shows in the last line. */
  phase(text: string): void;
  title(text: string): void;
  showText(label: string, text: string): void;
  /** Shows a problem that does not stop the run. Each problem is shown once. */
  readonly warn: Log['warn'];
  push(events: readonly ResearchEvent[]): void;
  /** Redraws the elapsed time. */
  tick(): void;
  /** Removes the status line, so that other output can follow. */
  clear(): void;
  summary(record: ResearchRecord): void;
}

/** Line widths: columns on a terminal, characters where the width is unknown. Parley's choice. */
const COLUMNS_MAX = 96;
const PLAIN_CHARS_MAX = 200;

/** Creates the progress display: permanent lines and, on a terminal, a status line below them. */
export function createResearchDisplay({ stream, isStyled, elapsedMs }: ResearchDisplayDeps): ResearchDisplay {
  const redraw = createTerminalRedraw(stream);
  const columns = stream.isTTY ? Math.min(stream.columns ?? 80, COLUMNS_MAX) : PLAIN_CHARS_MAX;
  const bold = (text: string): string => (isStyled ? `\u001b[1m${text}\u001b[22m` : text);
  const dim = (text: string): string => (isStyled ? `\u001b[2m${text}\u001b[22m` : text);
  const fit = (text: string, used: number): string => truncateLine(text, columns - used - 1);

  let activity = '';
  let details: readonly string[] = [];
  let lines = '';
  let hasStatus = false;
  const addLine = (line = ''): void => void (lines += `${line}\n`);
  const flush = (): void => {
    const isStatusShown = stream.isTTY === true && activity !== '';
    const status = isStatusShown ? `\n${[activity, ...details, formatElapsed(elapsedMs())].join(' · ')}\n` : '';
    // Without an activity there is no status line, e.g. while the user types.
    const text = hasStatus || isStatusShown ? `${redraw('')}${lines}${redraw(status)}` : lines;
    hasStatus = isStatusShown;
    lines = '';
    if (text !== '') stream.write(text);
  };
  const addParagraph = (text: string): void => {
    for (const line of text
      .split('\n')
      .map(toSingleLine)
      .filter((part) => part !== ''))
      for (const row of stream.isTTY ? wrapText(line, columns - 3) : [line]) addLine(`  ${row}`);
  };

  const warned = new Set<string>();
  const knownSites = new Set<number>();
  const sections = createSectionCounter();
  let tokens = 0;
  let plan = '';
  let learned: { readonly site: number; text: string } | undefined;
  const endLearned = (): void => {
    if (!learned) return;
    const mark = `[${learned.site}]`;
    addLine(`     ${dim('learned')} ${fit(toSingleLine(learned.text), 15 + mark.length)} ${dim(mark)}`);
    learned = undefined;
  };
  const addSite = ({ number, title, url }: ResearchSite): void => {
    const documentName = title.includes(getIndexDocumentName(url)) ? '' : getIndexDocumentName(url);
    const host = toSingleLine([getSourceHost(url), documentName].filter((part) => part !== '').join(': '));
    const name = fit(toSingleLine(title) || 'Untitled', 10 + host.length);
    addLine(`     ${dim(`[${number}]`)} ${name}  ${dim(host)}`.trimEnd());
  };
  const addSection = ({ title, words }: { readonly title: string; readonly words: number }): void =>
    addLine(`  ${fit(toSingleLine(title), 20)}  ${dim(formatQuantity(words, 'word'))}`);

  const showEvent = (event: ResearchEvent): void => {
    if (event.type !== 'learned') endLearned();
    switch (event.type) {
      case 'usage':
        tokens = event.inputTokens + event.outputTokens;
        return;
      case 'plan':
        plan += event.text;
        return;
      case 'plan-end':
        if (plan.trim() !== '') {
          addLine();
          addLine(bold('Plan'));
          addParagraph(plan);
        }
        activity = 'Searching';
        return;
      case 'query':
        addLine();
        addLine(`${dim(`${event.id}.`.padEnd(3))} ${bold(fit(toSingleLine(event.query), 5))}`);
        if (event.goal.trim() !== '') addLine(`    ${dim(fit(toSingleLine(event.goal), 5))}`);
        activity = 'Searching';
        return;
      case 'sites': {
        const newSites = event.sites.filter(({ number }) => !knownSites.has(number));
        for (const each of newSites) {
          knownSites.add(each.number);
          addSite(each);
        }
        const repeatedCount = event.sites.length - newSites.length;
        if (repeatedCount > 0) addLine(`     ${dim(`and ${formatCount(repeatedCount)} found before`)}`);
        return;
      }
      case 'learned':
        if (learned && learned.site !== event.site) endLearned();
        learned = { site: event.site, text: `${learned?.text ?? ''}${event.text}` };
        return;
      case 'report':
        if (!sections.hasStarted()) {
          addLine();
          addLine(bold('Report'));
        }
        activity = 'Writing';
        sections.push(event.text);
        return;
      case 'question':
      case 'query-end':
      case 'end':
    }
  };

  return {
    phase(text) {
      activity = text;
      flush();
    },
    title(text) {
      addLine(bold(toSingleLine(text)));
      flush();
    },
    showText(label, text) {
      addLine();
      addLine(bold(label));
      addParagraph(text);
      flush();
    },
    warn(message, { provider, reason, error } = {}) {
      const details = [provider, reason, error].filter((fact) => typeof fact === 'string');
      const line = toSingleLine([message, ...details].join(': '));
      if (warned.has(line)) return;
      warned.add(line);
      addLine(`     ${dim('!')} ${fit(line, 7)}`);
      flush();
    },
    push(events) {
      for (const event of events) showEvent(event);
      for (const done of sections.takeFinished()) addSection(done);
      details = [
        ...(knownSites.size > 0 ? [`${formatQuantity(knownSites.size, 'page')} found`] : []),
        ...(sections.hasStarted() ? [formatQuantity(sections.countTotalWords(), 'word')] : []),
        ...(tokens > 0 ? [formatQuantity(tokens, 'token')] : []),
      ];
      flush();
    },
    tick: flush,
    clear() {
      activity = '';
      flush();
    },
    summary(record) {
      for (const last of sections.takeAll()) addSection(last);
      addLine();
      addLine(formatSummary(record));
      activity = '';
      flush();
    },
  };
}

function formatSummary(record: ResearchRecord): string {
  const { report, references, pagesFound, elapsedMs, inputTokens, outputTokens } = record;
  return [
    formatQuantity(countWords(report), 'word'),
    `${formatQuantity(references.length, 'source')} of ${formatQuantity(pagesFound, 'page')} found`,
    formatElapsed(elapsedMs),
    `${formatCount(inputTokens)} tokens read, ${formatCount(outputTokens)} written`,
  ].join(' · ');
}

/** Truncates by characters, not columns: a line of wide characters may wrap. */
function truncateLine(text: string, charsMax: number): string {
  const signs = [...text];
  return signs.length <= charsMax
    ? text
    : `${signs
        .slice(0, Math.max(1, charsMax - 1))
        .join('')
        .trimEnd()}…`;
}

function wrapText(text: string, columns: number): readonly string[] {
  const rows: string[] = [];
  let row = '';
  for (const word of text.split(' ')) {
    if (row !== '' && row.length + 1 + word.length > columns) {
      rows.push(row);
      row = word;
    } else row = row === '' ? word : `${row} ${word}`;
  }
  return row === '' ? rows : [...rows, row];
}
